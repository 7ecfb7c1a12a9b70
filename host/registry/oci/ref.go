package oci

import (
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/poise-sched/poise/host/poise"
)

// LayoutPrefix begins the reference of an OCI layout on disk.
const LayoutPrefix = "oci:"

// ref is a reference taken apart.
type ref struct {
	dir    string             // of a layout; empty for a registry
	remote registry.Reference // without tag and digest; of a registry
	name   string             // tag, digest, or empty
}

func (r ref) layout() bool { return r.dir != "" }

func (r ref) isDigest() bool { return strings.Contains(r.name, ":") }

// String gives the reference as it is written.
func (r ref) String() string {
	base := LayoutPrefix + r.dir
	if !r.layout() {
		base = r.remote.Registry + "/" + r.remote.Repository
	}
	switch {
	case r.name == "":
		return base
	case r.isDigest():
		return base + "@" + r.name
	}
	return base + ":" + r.name
}

// parseRef reads HOST[:PORT]/REPOSITORY or oci:DIR, each with :TAG or @DIGEST or
// neither.
func parseRef(text string) (ref, error) {
	wrong := func(why string) error {
		return &poise.Error{
			Kind: poise.Invalid, Op: fmt.Sprintf("reference %.200q", text),
			Detail: why + ", expected HOST/REPOSITORY or oci:DIR, then :TAG or @sha256:HEX",
		}
	}
	dir, isLayout := strings.CutPrefix(text, LayoutPrefix)
	if !isLayout {
		parsed, err := registry.ParseReference(text)
		if err != nil {
			return ref{}, wrong("is none of a registry")
		}
		r := ref{remote: parsed, name: parsed.Reference}
		r.remote.Reference = ""
		return r, checkName(r.name, wrong)
	}
	r := ref{dir: dir}
	if i := strings.LastIndexByte(dir, '@'); i >= 0 && strings.HasPrefix(dir[i+1:], "sha256:") {
		r.dir, r.name = dir[:i], dir[i+1:]
	} else if i := strings.LastIndexByte(dir, ':'); i > strings.LastIndexByte(dir, '/') {
		r.dir, r.name = dir[:i], dir[i+1:]
		if r.name == "" {
			return ref{}, wrong("tag: empty")
		}
	}
	if r.dir == "" {
		return ref{}, wrong("directory: empty")
	}
	return r, checkName(r.name, wrong)
}

// checkName checks a tag or digest, where there is one.
func checkName(name string, wrong func(why string) error) error {
	r := registry.Reference{Reference: name}
	switch {
	case name == "":
		return nil
	case strings.Contains(name, ":"):
		if !strings.HasPrefix(name, "sha256:") || r.ValidateReferenceAsDigest() != nil {
			return wrong(fmt.Sprintf("digest: %.100q", name))
		}
	case r.ValidateReferenceAsTag() != nil:
		return wrong(fmt.Sprintf("tag: %.100q", name))
	}
	return nil
}
