// Package minisign signs modules of plugins and checks their signatures, in the
// format of the minisign tool: keys and signatures of either are good for the
// other. It reads and writes no files, and it imports nouns and the library of
// the format alone. The library says whether a signature is good; what this
// package adds is which part of one is not, bounds on what it reads, and several
// public keys at once, so that a tenant can change its key. A trusted comment is
// part of what is signed, an untrusted one is worth nothing and is never shown.
package minisign
