package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"

	"github.com/poise-sched/poise/host/poise"
)

// Push writes a plugin and its signatures to a registry or a layout, which is
// made where there is none. A reference without a tag gets the plugin's version
// as its tag. A tag that stands for something else already is refused with the
// kind Conflict unless o says otherwise; the tag comes last, so nobody finds a
// plugin under it before its signatures are there. Pushing what is there already
// changes nothing.
func Push(ctx context.Context, reference string, p Plugin, o Options) (Descriptor, error) {
	r, err := parseRef(reference)
	if err != nil {
		return Descriptor{}, err
	}
	d, err := push(ctx, &r, p, o)
	return d, explain(fmt.Sprintf("push plugin to %q", r), r, err)
}

func push(ctx context.Context, r *ref, p Plugin, o Options) (Descriptor, error) {
	a, said, err := pack(p)
	if err != nil {
		return Descriptor{}, err
	}
	switch {
	case r.isDigest():
		return Descriptor{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("digest: %s, expected a tag or nothing: what is pushed makes the digest", r.name)}
	case r.name == "":
		r.name = said.Version
		tag := registry.Reference{Reference: r.name}
		if tag.ValidateReferenceAsTag() != nil {
			return Descriptor{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("version %q: cannot be a tag, expected a reference with :TAG", said.Version)}
		}
	}
	if most := o.mostModule(); int64(len(p.Module)) > most {
		return Descriptor{}, &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("module: %d bytes, expected at most %d", len(p.Module), most)}
	}
	if len(p.Signatures) > mostSignatures {
		return Descriptor{}, &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("signatures: %d, expected at most %d", len(p.Signatures), mostSignatures)}
	}
	var to oras.GraphTarget
	if r.layout() {
		to, err = oci.NewWithContext(ctx, r.dir)
	} else {
		to, err = openRemote(*r, o, transport())
	}
	if err != nil {
		return Descriptor{}, err
	}
	return write(ctx, to, *r, a, p.Signatures, o.MoveTag)
}

// write sends the parts, then what names them, then the tag.
func write(ctx context.Context, to oras.GraphTarget, r ref, a artifact, signatures [][]byte, move bool) (Descriptor, error) {
	old, err := to.Resolve(ctx, r.name)
	switch {
	case err != nil && !errors.Is(err, errdef.ErrNotFound):
		return Descriptor{}, err
	case err == nil && old.Digest != a.manifest.desc.Digest && !move:
		return Descriptor{}, &poise.Error{Kind: poise.Conflict, Detail: fmt.Sprintf("tag %s: stands for %s, expected none or %s: versions do not change, and tags move only when asked to", r.name, old.Digest, a.manifest.desc.Digest)}
	}
	if err := put(ctx, to, a, false); err != nil {
		return Descriptor{}, err
	}
	for _, text := range signatures {
		s, err := packSignature(text, a.manifest.desc)
		if err == nil {
			err = put(ctx, to, s, true)
		}
		if err != nil {
			return Descriptor{}, fmt.Errorf("signature: %w", err)
		}
	}
	if err == nil && old.Digest == a.manifest.desc.Digest {
		return describe(r, a.manifest.desc, a.parts[1].desc), nil // the tag is there
	}
	if err := to.Tag(ctx, a.manifest.desc, r.name); err != nil {
		return Descriptor{}, fmt.Errorf("tag %s: %w", r.name, err)
	}
	return describe(r, a.manifest.desc, a.parts[1].desc), nil
}

func describe(r ref, manifest, module ocispec.Descriptor) Descriptor {
	return Descriptor{Reference: r.String(), Digest: string(manifest.Digest), Module: string(module.Digest)}
}

// put sends an artifact, except for what is there. again sends its manifest in
// any case: a registry without the referrers API learns what it refers to from an
// index that is written after it, and an earlier push may have ended between the
// two.
func put(ctx context.Context, to oras.GraphTarget, a artifact, again bool) error {
	for _, b := range append(a.parts, a.manifest) {
		there, err := to.Exists(ctx, b.desc)
		if err != nil {
			return err
		}
		if there && !(again && b.desc.Digest == a.manifest.desc.Digest) {
			continue
		}
		if err := to.Push(ctx, b.desc, bytes.NewReader(b.data)); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
			return fmt.Errorf("send %s: %w", b.desc.MediaType, err)
		}
	}
	return nil
}
