// Package abi is the contract between the host and a policy plugin: names,
// versions, the manifest, the layout of what lies in guest memory, and the codes
// of what can go wrong. SPEC.md beside it says the same in words, complete
// enough to write a guest or a host from. It imports the standard library only
// and holds no state; everything in it is a pure function of its arguments.
package abi

// Version of the contract: the major one is in the name of the marker export,
// the minor one is what calling it gives. A host serves guests of its own minor
// version and of all before it.
const (
	Major = 1
	Minor = 0
)

// Names of exports. A module exports Memory, Marker, Describe, Alloc and at
// least one of Filter and Score.
const (
	Memory     = "memory"
	Marker     = "poise_abi_v1"   // () -> i32: the minor version
	Describe   = "poise_describe" // () -> i32: pointer to {pointer, length} of the manifest
	Alloc      = "poise_alloc"    // (size, align i32) -> i32
	Initialize = "_initialize"    // () -> (), optional
	Filter     = "poise_filter"   // (table, job, out i32) -> i32
	Score      = "poise_score"    // (table, job, out i32) -> i32
	LogModule  = "poise"          // import module of the log function, under plugin run and test only
	LogName    = "log"            // (pointer, length i32) -> ()
	WASIModule = "wasi_snapshot_preview1"
	// ReservedPrefix begins the names of exports that the host adds.
	ReservedPrefix = "poise:"
)

// Bounds of the layout.
const (
	MaxRows      = 4096  // rows of a call
	MaxColumns   = 64    // columns of a manifest, labels not included
	MaxLabels    = 64    // label columns, and label keys with counts
	MaxParams    = 64    // parameters
	MaxDevices   = 32    // devices of a row
	MaxShapes    = 1024  // shapes of the profile
	MaxReason    = 255   // largest reason code
	MaxManifest  = 65536 // bytes of a manifest
	MaxLog       = 4096  // bytes of one log message
	MaxRowModels = 64    // device models that a job or a shape allows
)
