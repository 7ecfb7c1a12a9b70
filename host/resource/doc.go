// Package resource holds amounts of resources: int64 in base units (cpu in
// milli-cores, memory and storage in bytes, anything else in milli-units), the
// grammar in which people write them, lists of amounts by dimension name, and
// vectors of amounts by dimension index. It imports only the standard library.
// Arithmetic is checked: an amount that does not fit is an error with the
// dimension named, never a wrapped or saturated value, and no float takes part
// in any of it.
package resource
