package oci

import "github.com/poise-sched/poise/abi"

// Types of artifacts and of their parts.
const (
	ArtifactType  = "application/vnd.poise.plugin.v1"             // a version of a plugin
	ConfigType    = "application/vnd.poise.plugin.config.v1+json" // its manifest, as abi/SPEC.md has it
	ModuleType    = "application/wasm"                            // its module
	SignatureType = "application/vnd.poise.signature.v1.minisign" // a signature of the module: the artifact, and the .minisig file in it

	annotationABI = "poise.dev/abi"
)

// Bounds on what is read, in bytes where not said otherwise.
const (
	mostManifest   = 256 << 10
	mostConfig     = abi.MaxManifest
	mostSignature  = 16 << 10
	mostSignatures = 16 // artifacts
	defaultModule  = 16 << 20
)

// Plugin is one version of a plugin.
type Plugin struct {
	Manifest   []byte   // JSON; name and version are read from it
	ABI        string   // version of the contract that the module is made for, such as "1.0"; may be empty
	Module     []byte   // the .wasm file
	Signatures [][]byte // .minisig files of the module; each by another key
}

// Descriptor says what a reference stood for when it was used.
type Descriptor struct {
	Reference string // with the tag that was used
	Digest    string // sha256:hex of the artifact's manifest: the registry's name for it
	Module    string // sha256:hex of the module: Poise's name for it
}

// Options say how registries are spoken to. The zero value pulls without
// credentials.
type Options struct {
	MaxModule    int64    // larger modules are refused, bytes; 0 is 16 MiB
	DockerConfig bool     // take credentials from the Docker config file and the helpers that it names
	TokenHosts   []string // hosts (HOST or HOST:PORT) that credentials may go to, beside the registry
	PlainHTTP    *bool    // HTTP without TLS; nil is for loopback addresses only
	MoveTag      bool     // a push may point a tag of another plugin or version to this one
}

func (o Options) mostModule() int64 {
	if o.MaxModule > 0 {
		return o.MaxModule
	}
	return defaultModule
}
