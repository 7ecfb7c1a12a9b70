// Package oci keeps versions of plugins in OCI registries and in OCI layouts on
// disk, so that plugins travel without a daemon of Poise. One version is one
// artifact: the module as its only layer, what the module says of itself as its
// config, and each signature as an artifact of its own that refers to it. The
// same plugin is the same artifact, bit for bit: there is no time in it.
//
// Two digests name a plugin here. The module's own (sha256 of the .wasm) is the
// identity that Poise decides, activates and replays by; the manifest's is what
// a registry calls the artifact, and says the same of module and config
// together. A tag is a name that a registry may point elsewhere at any time.
//
// Nothing is believed because a registry says it: sizes are bounded before
// anything is read, content is compared with its digest, types are checked, and
// credentials go to the registry and to its own token server only. The package
// does not run modules and does not check signatures: whoever pulls compares the
// manifest with the module's and asks for the signatures that it requires. It
// imports nouns, the manifest of the contract and oras-go.
package oci
