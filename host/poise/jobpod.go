package poise

import (
	"fmt"
	"slices"
	"strings"
)

// JobLabel is the label of the pod that a job becomes in a cluster of Kubernetes; its
// value is the job's id.
const JobLabel = LabelPrefix + "job"

// LabelPrefix is what the labels of this scheduler begin with. A job's own labels
// with it are not those of its pod.
const LabelPrefix = "poise.dev/"

// SpaceSet says which namespace of a cluster of Kubernetes the jobs of a tenant are
// in that run as pods there.
type SpaceSet struct {
	Cluster string
	Tenant  TenantID
	Space   string `json:",omitempty"` // "" = that of the tenant's name
}

// JobEnding says that the task of a job, which is a pod, is told to end. It holds what
// it holds until it has.
type JobEnding struct{ Job JobID }

// EventKind implements Body.
func (JobEnding) EventKind() string { return "job-ending" }

// EventKind implements Body.
func (SpaceSet) EventKind() string { return "space-set" }

// Validate checks every field and names the first that is wrong.
func (b *SpaceSet) Validate() error {
	op := fmt.Sprintf("set namespace of tenant %q", b.Tenant)
	if err := validName(op, "cluster", b.Cluster); err != nil {
		return err
	}
	if err := validName(op, "tenant", string(b.Tenant)); err != nil {
		return err
	}
	if b.Space == "" {
		return nil
	}
	return validName(op, "namespace", b.Space)
}

// PodLabels gives the labels of the pod that a job becomes, sorted: its own, without
// those that Kubernetes does not take, and which job it is.
func PodLabels(id JobID, labels []Label) []Label {
	all := []Label{{Key: JobLabel, Value: string(id)}}
	for _, l := range labels {
		if PodLabel(l) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// PodLabel says whether the pod that a job becomes has a label of the job: it is not
// of this scheduler, and Kubernetes takes it.
func PodLabel(l Label) bool {
	return !strings.HasPrefix(l.Key, LabelPrefix) && labelKey(l.Key) && labelValue(l.Value)
}

// The longest part of a label and the longest domain before its name, in bytes.
const (
	maxLabelPart = 63
	maxDomain    = 253
)

// labelKey says whether Kubernetes takes the key of a label: a name, behind the
// domain of who gives it if there is one.
func labelKey(key string) bool {
	domain, name, found := strings.Cut(key, "/")
	if !found {
		return labelName(key)
	}
	if len(domain) > maxDomain || !labelName(name) {
		return false
	}
	for part := range strings.SplitSeq(domain, ".") {
		if !wordOf(part, "-", false) {
			return false
		}
	}
	return true
}

func labelName(text string) bool { return len(text) <= maxLabelPart && wordOf(text, "-_.", true) }

// labelValue says whether Kubernetes takes the value of a label.
func labelValue(value string) bool { return value == "" || labelName(value) }

// wordOf says whether a text is ASCII letters and digits, with other characters
// between them.
func wordOf(text, others string, capitals bool) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', capitals && c >= 'A' && c <= 'Z':
		case i == 0 || i == len(text)-1 || strings.IndexByte(others, c) < 0:
			return false
		}
	}
	return text != ""
}
