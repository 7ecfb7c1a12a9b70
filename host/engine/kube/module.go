package kube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A module is in several ConfigMaps. The first one has the name of the record and is
// written last, so a module is replaced at once or not at all: it says how many
// parts there are, and the digest that all of them are named after.
const (
	partSize   = 900 << 10
	digestNote = mark + "digest" // SHA-256 of the whole module, in hexadecimal
	partsNote  = mark + "parts"  // how many there are; only of the first
	partNote   = mark + "part"   // which it is, from 1; only of the others
	partNotes  = len(digestNote) + 2*sha256.Size + len(partsNote) + 10
)

func (h *Home) putModule(ctx context.Context, op string, r *Record) error {
	sum := sha256.Sum256(r.Body)
	of := hex.EncodeToString(sum[:])
	parts := slices.Collect(slices.Chunk(r.Body, partSize))
	if len(parts) == 0 {
		parts = [][]byte{{}}
	}
	for i, body := range parts[1:] {
		part := h.part(r, of, body)
		part.Name = partName(r.Name, of, i+1)
		part.Annotations[partNote] = strconv.Itoa(i + 1)
		_, err := h.write(ctx, ModuleRecord, part, "")
		if apierrors.IsAlreadyExists(err) {
			var there object
			if there, err = h.read(ctx, ModuleRecord, part.Name); err == nil && !bytes.Equal(there.(*v1.ConfigMap).BinaryData[bodyKey], body) {
				_, err = h.write(ctx, ModuleRecord, part, there.GetResourceVersion())
			}
		}
		if err != nil {
			return failed(op, err)
		}
	}
	first := h.part(r, of, parts[0])
	first.Annotations[partsNote] = strconv.Itoa(len(parts))
	h.mu.Lock()
	replaces := h.known[recordKey{r.Kind, r.Name}].version != ""
	h.mu.Unlock()
	if err := h.put(ctx, op, r, first); err != nil {
		return err
	}
	if replaces {
		if err := h.sweep(ctx, r.Name, of); err != nil {
			h.log.Warn("parts of a module that was replaced stay", "module", r.Name, "error", err)
		}
	}
	return nil
}

func (h *Home) part(r *Record, of string, body []byte) *v1.ConfigMap {
	m := &v1.ConfigMap{ObjectMeta: h.meta(r), BinaryData: map[string][]byte{bodyKey: body}}
	m.Annotations[digestNote] = of
	return m
}

func partName(name, of string, part int) string {
	return fmt.Sprintf("%s-%s-%d", objectName(ModuleRecord, name), of[:16], part)
}

// bodyDigest gives the SHA-256 of the body of a record that an object has, of a module
// that of all its parts.
func bodyDigest(kind RecordKind, o object) digest {
	if kind == ModuleRecord {
		var d digest
		_, _ = hex.Decode(d[:], []byte(o.GetAnnotations()[digestNote]))
		return d
	}
	body, _ := bodyOf(o)
	return sha256.Sum256(body)
}

// whole puts modules together from their parts: each is the first with the body of
// all. What belongs to none is removed by the one who leads.
func (h *Home) whole(ctx context.Context, objects []object) []object {
	parts := map[string]*v1.ConfigMap{}
	for _, o := range objects {
		parts[o.GetName()] = o.(*v1.ConfigMap)
	}
	var all []object
	used := map[string]bool{}
	for _, o := range objects {
		first := o.(*v1.ConfigMap)
		name, of := first.Annotations[nameNote], first.Annotations[digestNote]
		n, err := strconv.Atoi(first.Annotations[partsNote])
		if err != nil || n > len(objects) || len(of) != 2*sha256.Size {
			continue // it is not the first part of one
		}
		names, body := []string{first.Name}, slices.Clone(first.BinaryData[bodyKey])
		for i := 1; i < n; i++ {
			if part := parts[partName(name, of, i)]; part != nil {
				names, body = append(names, part.Name), append(body, part.BinaryData[bodyKey]...)
			}
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != of {
			h.log.Warn("a module of the home cluster is not complete", "module", name)
			continue
		}
		for _, name := range names {
			used[name] = true
		}
		module := first.DeepCopy()
		module.BinaryData = map[string][]byte{bodyKey: body}
		all = append(all, module)
	}
	for _, o := range objects {
		if used[o.GetName()] || h.Leading() != nil {
			continue
		}
		if err := h.remove(ctx, ModuleRecord, o.GetName()); err != nil {
			h.log.Warn("a part of no module stays", "object", o.GetName(), "error", err)
		}
	}
	return all
}

// sweep removes the parts of a module but those of a digest.
func (h *Home) sweep(ctx context.Context, name, but string) error {
	parts, err := h.listed(ctx, ModuleRecord, recordLabel+"="+string(ModuleRecord)+","+idLabel+"="+idOf(name))
	if err != nil {
		return err
	}
	for _, o := range parts {
		if o.GetAnnotations()[digestNote] == but {
			continue
		}
		if err := h.remove(ctx, ModuleRecord, o.GetName()); err != nil {
			return err
		}
	}
	return nil
}
