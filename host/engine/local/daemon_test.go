//go:build linux

package local

func runDaemon([]string) int { return 0 }
