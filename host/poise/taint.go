package poise

import "fmt"

// Effect is what a Taint does to jobs that do not tolerate it. Both effects
// keep new jobs away; NoExecute also asks the engine to evict running ones.
type Effect string

// The effects of a Taint.
const (
	NoSchedule Effect = "NoSchedule"
	NoExecute  Effect = "NoExecute"
)

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
// tolerates every taint, an empty effect both effects; Exists ignores the
// value.
type Toleration struct {
	Key, Value string
	Exists     bool
	Effect     Effect
}

// Tolerates says whether one of the tolerations matches the taint.
func Tolerates(tolerations []Toleration, t *Taint) bool {
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
	if t.Effect != NoSchedule && t.Effect != NoExecute {
		return invalid("taint", fmt.Sprintf("%s: effect %q, expected NoSchedule or NoExecute", t.Key, t.Effect))
	}
	return nil
}

// Validate checks the effect and that an empty key comes with Exists.
func (o *Toleration) Validate() error {
	if o.Effect != "" && o.Effect != NoSchedule && o.Effect != NoExecute {
		return invalid("toleration", fmt.Sprintf("%s: effect %q, expected NoSchedule, NoExecute or none", o.Key, o.Effect))
	}
	if o.Key == "" && !o.Exists {
		return invalid("toleration", "key: empty without exists, expected a taint key")
	}
	if o.Exists && o.Value != "" {
		return invalid("toleration", fmt.Sprintf("%s: value %q with exists, expected no value", o.Key, o.Value))
	}
	return nil
}
