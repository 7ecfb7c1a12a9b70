package oci

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// Pull reads a plugin and its signatures. The reference needs a tag or a digest.
// What comes back is what the artifact's digest stands for, of the right types
// and within bounds; whether the signatures are good and the module says the
// same as the manifest is for the caller to check.
func Pull(ctx context.Context, reference string, o Options) (Plugin, Descriptor, error) {
	r, err := parseRef(reference)
	if err != nil {
		return Plugin{}, Descriptor{}, err
	}
	p, d, err := pull(ctx, r, o)
	return p, d, explain(fmt.Sprintf("pull plugin %q", r), r, err)
}

func pull(ctx context.Context, r ref, o Options) (Plugin, Descriptor, error) {
	if r.name == "" {
		return Plugin{}, Descriptor{}, &poise.Error{Kind: poise.Invalid, Detail: "reference: has no tag and no digest, expected :TAG or @sha256:HEX"}
	}
	if !r.layout() {
		from, err := openRemote(r, o, transport())
		if err != nil {
			return Plugin{}, Descriptor{}, err
		}
		return read(ctx, from, r, o)
	}
	root, err := os.OpenRoot(r.dir) // links in it lead nowhere else
	if err != nil {
		return Plugin{}, Descriptor{}, err
	}
	defer root.Close()
	from, err := oci.NewFromFS(ctx, regular{root.FS()})
	if err != nil {
		return Plugin{}, Descriptor{}, err
	}
	return read(ctx, from, r, o)
}

// regular is a file system of which only files are opened: to open a pipe would
// wait for ever, whatever ctx says.
type regular struct{ fs.FS }

// Open opens a file.
func (r regular) Open(name string) (fs.File, error) {
	info, err := fs.Stat(r.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("%s: is %s, expected a file", name, info.Mode().Type())}
	}
	return r.FS.Open(name)
}

// read resolves the reference once; all that follows goes by digest.
func read(ctx context.Context, from oras.ReadOnlyGraphTarget, r ref, o Options) (Plugin, Descriptor, error) {
	desc, err := from.Resolve(ctx, r.name)
	if err != nil {
		return Plugin{}, Descriptor{}, err
	}
	m, err := readManifest(ctx, from, desc, ArtifactType, ConfigType, ModuleType, mostConfig, o.mostModule())
	if err != nil {
		return Plugin{}, Descriptor{}, err
	}
	p := Plugin{ABI: m.Annotations[annotationABI]}
	if p.Manifest, err = readPart(ctx, from, "config", m.Config); err != nil {
		return Plugin{}, Descriptor{}, err
	}
	if _, err := abi.ParseManifest(p.Manifest); err != nil {
		return Plugin{}, Descriptor{}, &poise.Error{Kind: poise.Invalid, Op: "config", Err: cleaned{err}}
	}
	if p.Module, err = readPart(ctx, from, "layer", m.Layers[0]); err != nil {
		return Plugin{}, Descriptor{}, err
	}
	if p.Signatures, err = readSignatures(ctx, from, desc); err != nil {
		return Plugin{}, Descriptor{}, fmt.Errorf("signatures: %w", err)
	}
	return p, describe(r, desc, m.Layers[0]), nil
}

// readManifest reads and checks the manifest of an artifact.
func readManifest(ctx context.Context, from content.Fetcher, desc ocispec.Descriptor, artifactType, configType, layerType string, mostConfig, mostLayer int64) (*ocispec.Manifest, error) {
	if desc.MediaType != ocispec.MediaTypeImageManifest {
		return nil, invalid("manifest: media type", desc.MediaType, ocispec.MediaTypeImageManifest+" (an artifact, not an index or a Docker image)")
	}
	if err := checkPart("manifest", desc, mostManifest); err != nil {
		return nil, err
	}
	text, err := readPart(ctx, from, "manifest", desc)
	if err != nil {
		return nil, err
	}
	return unpack(text, artifactType, configType, layerType, mostConfig, mostLayer)
}

// readPart reads content whose size was checked, and compares it with its
// digest.
func readPart(ctx context.Context, from content.Fetcher, what string, desc ocispec.Descriptor) ([]byte, error) {
	body, err := from.Fetch(ctx, desc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer body.Close()
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, fmt.Errorf("%s %s of %d bytes: %w", what, desc.Digest, desc.Size, err)
	}
	return data, nil
}

// readSignatures reads the signatures that refer to an artifact, in the order of
// their digests. One that cannot be read is an error: left out, it would look as
// if it had never been made.
func readSignatures(ctx context.Context, from oras.ReadOnlyGraphTarget, subject ocispec.Descriptor) ([][]byte, error) {
	var found []ocispec.Descriptor
	collect := func(page []ocispec.Descriptor) error {
		found = append(found, page...)
		if len(found) > mostSignatures {
			return &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("more than %d, expected at most so many", mostSignatures)}
		}
		return nil
	}
	if lister, ok := from.(registry.ReferrerLister); ok {
		if err := lister.Referrers(ctx, subject, SignatureType, collect); err != nil {
			return nil, err
		}
	} else {
		page, err := registry.Referrers(ctx, from, subject, SignatureType)
		if err == nil {
			err = collect(page)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, func(a, b ocispec.Descriptor) int { return strings.Compare(string(a.Digest), string(b.Digest)) })
	var list [][]byte
	for _, desc := range found {
		m, err := readManifest(ctx, from, desc, SignatureType, ocispec.MediaTypeEmptyJSON, SignatureType, mostConfig, mostSignature)
		if err != nil {
			return nil, err
		}
		if m.Subject == nil || m.Subject.Digest != subject.Digest {
			return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("manifest %s: subject is another artifact, expected %s", desc.Digest, subject.Digest)}
		}
		text, err := readPart(ctx, from, "layer", m.Layers[0])
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}
