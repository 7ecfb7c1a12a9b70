//go:build !unix

package store

// syncDir does nothing where a directory cannot be opened as a file; such
// systems keep names in a journal of their own.
func syncDir(string) error { return nil }
