package resource

import "strings"

// Unit is the base unit in which the amounts of a dimension are counted.
type Unit uint8

// The base units.
const (
	Milli Unit = iota // thousandths of one: milli-cores, milli-devices
	Bytes
)

// UnitOf gives the base unit of a dimension. The byte dimensions are the ones
// that Kubernetes counts in bytes: memory, storage, ephemeral-storage and
// every hugepages- size. Everything else, cpu included, is in milli-units, so
// that no list of names has to be kept and a new resource needs no setting; an
// unknown one that holds bytes is exact too, up to 9.2 P.
// Of NAME@CLASS, the part of a dimension that one class of nodes has, NAME says.
func UnitOf(name string) Unit {
	name, _, _ = strings.Cut(name, "@")
	switch name {
	case "memory", "storage", "ephemeral-storage":
		return Bytes
	}
	if strings.HasPrefix(name, "hugepages-") {
		return Bytes
	}
	return Milli
}

// digits is how many decimal digits behind the point the base unit holds.
func (u Unit) digits() int {
	if u == Bytes {
		return 0
	}
	return 3
}
