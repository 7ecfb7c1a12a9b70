package oci

import (
	"encoding/json"
	"fmt"

	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/poise"
)

// blob is content and what names it.
type blob struct {
	desc ocispec.Descriptor
	data []byte
}

func newBlob(mediaType string, data []byte) blob {
	return blob{content.NewDescriptorFromBytes(mediaType, data), data}
}

// titled names the file that general tools write the blob to.
func (b blob) titled(name string) blob {
	b.desc.Annotations = map[string]string{ocispec.AnnotationTitle: name}
	return b
}

// artifact is a manifest and the blobs that it names.
type artifact struct {
	manifest blob
	parts    []blob
}

func newArtifact(artifactType string, config, layer blob, subject *ocispec.Descriptor, annotations map[string]string) (artifact, error) {
	m := ocispec.Manifest{
		Versioned:    specs.Versioned{SchemaVersion: 2},
		MediaType:    ocispec.MediaTypeImageManifest,
		ArtifactType: artifactType,
		Config:       config.desc,
		Layers:       []ocispec.Descriptor{layer.desc},
		Subject:      subject,
		Annotations:  annotations,
	}
	text, err := json.Marshal(&m)
	if err != nil {
		return artifact{}, fmt.Errorf("print manifest: %w", err)
	}
	a := artifact{manifest: newBlob(ocispec.MediaTypeImageManifest, text), parts: []blob{config, layer}}
	a.manifest.desc.ArtifactType = artifactType
	return a, nil
}

// pack makes the artifact of a plugin, with what its manifest says.
func pack(p Plugin) (artifact, *abi.Manifest, error) {
	said, err := abi.ParseManifest(p.Manifest)
	switch {
	case err != nil:
		return artifact{}, nil, &poise.Error{Kind: poise.Invalid, Err: err}
	case len(p.Module) == 0:
		return artifact{}, nil, &poise.Error{Kind: poise.Invalid, Detail: "module: empty, expected a .wasm file"}
	}
	annotations := map[string]string{
		ocispec.AnnotationTitle:   said.Name,
		ocispec.AnnotationVersion: said.Version,
	}
	if p.ABI != "" {
		annotations[annotationABI] = p.ABI
	}
	layer := newBlob(ModuleType, p.Module).titled("plugin.wasm")
	a, err := newArtifact(ArtifactType, newBlob(ConfigType, p.Manifest), layer, nil, annotations)
	return a, said, err
}

// packSignature makes the artifact of a signature of what subject is.
func packSignature(text []byte, subject ocispec.Descriptor) (artifact, error) {
	if len(text) == 0 || len(text) > mostSignature {
		return artifact{}, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("signature: %d bytes, expected 1 to %d", len(text), mostSignature)}
	}
	of := ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	config := blob{ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data}
	config.desc.Data = nil // it is sent as a blob, as registries before version 1.1 want it
	layer := newBlob(SignatureType, text).titled("plugin.wasm.minisig")
	return newArtifact(SignatureType, config, layer, &of, nil)
}

// unpack reads the manifest of an artifact of the given type and checks all that
// can be checked before its parts are read: it has a config and one layer of the
// types given, none larger than most.
func unpack(text []byte, artifactType, configType, layerType string, mostConfig, mostLayer int64) (*ocispec.Manifest, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, &poise.Error{Kind: poise.Invalid, Detail: "manifest: expected JSON", Err: cleaned{err}}
	}
	is := m.ArtifactType
	if is == "" {
		is = m.Config.MediaType // an artifact of before OCI 1.1
	}
	switch {
	case m.MediaType != "" && m.MediaType != ocispec.MediaTypeImageManifest:
		return nil, invalid("manifest: media type", m.MediaType, ocispec.MediaTypeImageManifest)
	case is != artifactType:
		return nil, invalid("manifest: artifact type", is, artifactType)
	case m.Config.MediaType != configType:
		return nil, invalid("manifest: media type of the config", m.Config.MediaType, configType)
	case len(m.Layers) != 1:
		return nil, &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("manifest: %d layers, expected 1, of media type %s", len(m.Layers), layerType)}
	case m.Layers[0].MediaType != layerType:
		return nil, invalid("manifest: media type of the layer", m.Layers[0].MediaType, layerType)
	}
	if err := checkPart("config", m.Config, mostConfig); err != nil {
		return nil, err
	}
	return &m, checkPart("layer", m.Layers[0], mostLayer)
}

func invalid(what, is, want string) error {
	return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("%s: %.100q, expected %s", what, is, want)}
}

// checkPart checks what a descriptor says before anything is read.
func checkPart(what string, d ocispec.Descriptor, most int64) error {
	switch {
	case d.Digest.Validate() != nil || d.Digest.Algorithm().String() != "sha256":
		return invalid(what+": digest", string(d.Digest), "sha256:HEX")
	case d.Size < 0:
		return &poise.Error{Kind: poise.Invalid, Detail: fmt.Sprintf("%s: size %d, expected 0 or more", what, d.Size)}
	case d.Size > most:
		return &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("%s: %d bytes, expected at most %d", what, d.Size, most)}
	}
	return nil
}
