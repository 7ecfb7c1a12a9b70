package poise

import "fmt"

// Effect is what a Taint does to jobs that do not tolerate it. NoSchedule and
// NoExecute keep new jobs away; NoExecute also asks the engine to evict running
// ones; PreferNoSchedule has them go elsewhere where they can.
type Effect string

// The effects of a Taint.
const (
	NoSchedule       Effect = "NoSchedule"
	NoExecute        Effect = "NoExecute"
	PreferNoSchedule Effect = "PreferNoSchedule"
)

func (e Effect) known() bool { return e == NoSchedule || e == NoExecute || e == PreferNoSchedule }

// Taint keeps jobs off a node unless they tolerate it.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// String gives the taint as Kubernetes writes it.
func (t *Taint) String() string {
	text := t.Key
	if t.Value != "" {
		text += "=" + t.Value
	}
	return text + ":" + string(t.Effect)
}

// Toleration lets a job onto nodes with a matching taint. An empty key
// tolerates every taint, an empty effect every effect; Exists ignores the
// value.
type Toleration struct {
	Key, Value string
	Exists     bool
	Effect     Effect
}

// Tolerates says whether the taint does not keep a job with these tolerations
// away: one of them matches, or it keeps nobody away.
func Tolerates(tolerations []Toleration, t *Taint) bool {
	return t.Effect == PreferNoSchedule || matchedBy(tolerations, t)
}

// Minds says whether the taint has a job with these tolerations go elsewhere where
// it can.
func Minds(tolerations []Toleration, t *Taint) bool {
	return t.Effect == PreferNoSchedule && !matchedBy(tolerations, t)
}

func matchedBy(tolerations []Toleration, t *Taint) bool {
	for i := range tolerations {
		o := &tolerations[i]
		if o.Key != "" && o.Key != t.Key {
			continue
		}
		if o.Effect != "" && o.Effect != t.Effect {
			continue
		}
		if o.Exists || o.Key == "" || o.Value == t.Value {
			return true
		}
	}
	return false
}

// Validate checks key and effect.
func (t *Taint) Validate() error {
	if t.Key == "" {
		return invalid("taint", "key: empty, expected a taint key")
	}
	if !t.Effect.known() {
		return invalid("taint", fmt.Sprintf("%s: effect %q, expected NoSchedule, NoExecute or PreferNoSchedule", t.Key, t.Effect))
	}
	return nil
}

// Validate checks the effect and that an empty key comes with Exists.
func (o *Toleration) Validate() error {
	if o.Effect != "" && !o.Effect.known() {
		return invalid("toleration", fmt.Sprintf("%s: effect %q, expected NoSchedule, NoExecute, PreferNoSchedule or none", o.Key, o.Effect))
	}
	if o.Key == "" && !o.Exists {
		return invalid("toleration", "key: empty without exists, expected a taint key")
	}
	if o.Exists && o.Value != "" {
		return invalid("toleration", fmt.Sprintf("%s: value %q with exists, expected no value", o.Key, o.Value))
	}
	return nil
}
