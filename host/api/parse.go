package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/manifest"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

// ParseJob reads a spec as a job file is read; the job's id is its name. One with an
// image is a pod to be: it goes to nodes of clusters of Kubernetes alone, and takes
// one of their pods; one without never goes there.
func ParseJob(spec client.JobSpec) (manifest.Job, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return manifest.Job{}, &poise.Error{Kind: poise.Internal, Op: "write job as JSON", Err: err}
	}
	j, err := manifest.DecodeSpec("job", text)
	if err != nil {
		return j, err
	}
	where := poise.Selector{Key: poise.ClusterLabel, Op: poise.DoesNotExist}
	if j.Task.Image != "" {
		where.Op = poise.Exists
		one, amounts := resource.Amount{Name: "pods", Value: 1000}, j.Request.Amounts
		if at, found := slices.BinarySearchFunc(amounts, one, func(a, b resource.Amount) int { return strings.Compare(a.Name, b.Name) }); !found {
			j.Request.Amounts = slices.Insert(slices.Clip(amounts), at, one)
		}
	}
	same := func(s poise.Selector) bool { return s.Key == where.Key && s.Op == where.Op }
	if !slices.ContainsFunc(j.Selectors, same) {
		j.Selectors = append(slices.Clip(j.Selectors), where)
	}
	return j, nil
}

// ParseNode reads a spec as a fleet file is read.
func ParseNode(spec client.NodeSpec) (poise.Node, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return poise.Node{}, &poise.Error{Kind: poise.Internal, Op: "write node as JSON", Err: err}
	}
	return manifest.DecodeNode("node", text)
}

// written is a spec as it came, so that host/manifest finds every fault in it
// and huma none; T is what the OpenAPI document says of it.
type written[T any] struct{ json.RawMessage }

// Schema implements huma.SchemaProvider.
func (written[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// jobSpecs reads specs that stand in a list at path, or one alone.
func jobSpecs(path string, list []written[client.JobSpec]) ([]client.JobSpec, error) {
	return specs[client.JobSpec](path, list, func(name string, text []byte) error {
		_, err := manifest.DecodeSpec(name, text)
		return err
	})
}

// nodeSpecs reads specs that stand in a list at path, or one alone.
func nodeSpecs(path string, list []written[client.NodeSpec]) ([]client.NodeSpec, error) {
	return specs[client.NodeSpec](path, list, func(name string, text []byte) error {
		_, err := manifest.DecodeNode(name, text)
		return err
	})
}

// maxFaulty is with how many faulty specs an answer has enough to say.
const maxFaulty = 20

func specs[T any](path string, list []written[T], check func(name string, text []byte) error) ([]T, error) {
	out := make([]T, len(list))
	var faulty []error
	for i := range list {
		name := path
		if path != "" {
			name = fmt.Sprintf("%s[%d]", path, i)
		}
		text := list[i].RawMessage
		if len(bytes.TrimSpace(text)) == 0 {
			text = []byte("null")
		}
		err := check(name, text)
		if err == nil {
			err = json.Unmarshal(text, &out[i])
		}
		if err != nil {
			if faulty = append(faulty, err); len(faulty) == maxFaulty {
				break
			}
		}
	}
	if len(faulty) > 0 {
		return nil, &poise.Error{Kind: poise.Invalid, Err: errors.Join(faulty...)}
	}
	return out, nil
}
