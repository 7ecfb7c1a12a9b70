package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/poise-sched/poise/host/engine/kube"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/store"
)

// homeJob is the record of a job: what another replica goes on with. Pods have none:
// they are in the API server themselves.
type homeJob struct {
	Spec          json.RawMessage // as it was submitted, with what was changed since
	After         []poise.JobID   `json:",omitempty"` // that have not ended
	State         string
	Node          string      `json:",omitempty"`
	Reason        string      `json:",omitempty"` // of one that has ended, or is to
	Submitted     poise.Time  // ms since the Unix epoch
	Failures      int32       `json:",omitempty"`
	Started       bool        `json:",omitempty"` // its gang has
	Placement     *homePlace  `json:",omitempty"` // nil while it waits
	ExitCode      *int32      `json:",omitempty"`
	Signal        string      `json:",omitempty"`
	Ended         poise.Time  `json:",omitempty"`
	Key           *homeKey    `json:",omitempty"`
	Group, Called string      `json:",omitempty"` // id and name of its array or gang
	ID            poise.JobID `json:"-"`

	spec Spec // what Spec says
}

// homePlace is where a job was placed.
type homePlace struct {
	ID             string
	Placed, Starts poise.Time // Starts 0 = not yet
}

// homeKey is the idempotency key of a submission, as the store has it.
type homeKey struct {
	Key  string
	Hash []byte
	At   poise.Time
}

const (
	// homeKeeps is how long the record of a job stays that has ended: who waits for it,
	// or submits it again under its key, may ask another replica.
	homeKeeps = time.Hour
	// maxHomeJob is the largest job in bytes of JSON: it goes into the annotations of an
	// object, of which Kubernetes takes 256 KiB in all.
	maxHomeJob = 192 << 10
)

// mirror is what of the loop's state has to be at home. It is the loop's.
type mirror struct {
	all     bool                    // everything is to be written
	tenants map[poise.TenantID]bool // that have changed
	jobs    map[poise.JobID]homed   // that have a record
	ended   []endedRecord           // in the order in which they ended
}

// homed is what is known of a job's record.
type homed struct {
	sum sum
	key *homeKey
}

type endedRecord struct {
	job poise.JobID
	at  poise.Time
}

func newMirror() *mirror {
	return &mirror{tenants: map[poise.TenantID]bool{}, jobs: map[poise.JobID]homed{}}
}

// changes gives what the batch changes of the records. Without a home there is none.
func (c *core) changes() []change {
	m := c.mirror
	if m == nil {
		return nil
	}
	for i := range c.batch.Keys {
		k := &c.batch.Keys[i]
		m.jobs[poise.JobID(k.Job)] = homed{key: &homeKey{Key: k.Key, Hash: k.Hash, At: poise.Time(k.At)}}
	}
	latest := map[poise.JobID]*store.JobRow{}
	if m.all {
		for id, live := range c.jobs {
			latest[id] = &live.row
		}
	}
	for i := range c.batch.Jobs {
		latest[poise.JobID(c.batch.Jobs[i].ID)] = &c.batch.Jobs[i]
	}
	var out []change
	for id, row := range latest {
		if ch, changed := c.homeJob(id, row); changed {
			out = append(out, ch)
		}
	}
	out = append(out, c.homeTenants()...)
	m.all = false
	for len(m.ended) > 0 && m.ended[0].at+poise.Time(homeKeeps.Milliseconds()) <= c.now() {
		id := m.ended[0].job
		delete(m.jobs, id)
		m.ended = m.ended[1:]
		// Taken over only now, it is written as well: of one record there is one change.
		out = slices.DeleteFunc(out, func(ch change) bool { return ch.Kind == kube.JobRecord && ch.Name == string(id) })
		out = append(out, change{Record: kube.Record{Kind: kube.JobRecord, Name: string(id)}, drop: true})
	}
	return out
}

// homeJob gives the record of a job, and whether it is another one than before.
func (c *core) homeJob(id poise.JobID, row *store.JobRow) (change, bool) {
	was, known := c.mirror.jobs[id]
	r := homeJob{
		Spec: row.Body, State: row.State, Node: row.Node, Submitted: poise.Time(row.Submitted), ExitCode: row.ExitCode, Signal: row.Signal,
		Group: row.Group, Called: row.GroupName, Key: was.key,
	}
	live, j := c.jobs[id], c.loop.State().Job(id)
	if live == nil || j == nil {
		if !known {
			return change{}, false // a pod, or over before anybody was told of it
		}
		r.Reason, r.Ended = row.Reason, poise.Time(row.Changed)
		c.mirror.ended = append(c.mirror.ended, endedRecord{id, r.Ended})
	} else {
		if live.spec.Job.Pod != nil {
			return change{}, false
		}
		r.After, r.Failures, r.Started = j.After, j.Failures, j.Gang != nil && c.loop.State().Alone(j)
		if stopped(row.Reason) {
			r.Reason = row.Reason
		}
		if p := &live.place; p.ID != "" {
			r.Placement = &homePlace{ID: p.ID, Placed: poise.Time(p.Placed), Starts: poise.Time(p.Started)}
		}
	}
	body, err := json.Marshal(&r)
	if err != nil {
		panic(fmt.Sprintf("BUG: the record of a job cannot be written: %v", err))
	}
	sum := sha256.Sum256(body)
	if known && was.sum == sum {
		return change{}, false
	}
	c.mirror.jobs[id] = homed{sum, was.key}
	return change{Record: kube.Record{Kind: kube.JobRecord, Name: string(id), Body: body, Job: templateOf(row.Body)}}, true
}

// templateOf gives what the object of a job shows.
func templateOf(body []byte) *kube.JobTemplate {
	var s Spec
	if err := json.Unmarshal(body, &s); err != nil {
		panic(fmt.Sprintf("BUG: a job that was written cannot be read: %v", err))
	}
	d := &s.Job.Request.Device
	return &kube.JobTemplate{
		Image: s.Image, Command: s.Command, Amounts: s.Job.Request.Amounts, Devices: int(d.Count), DeviceKind: d.Kind, Labels: labelMap(s.Job.Labels),
	}
}

// fitsHome refuses a job that is too large for a record.
func fitsHome(specs []Spec) error {
	for i := range specs {
		body, err := json.Marshal(&specs[i])
		if err != nil {
			return err
		}
		if len(body) > maxHomeJob {
			return &poise.Error{
				Kind: poise.Invalid, Op: fmt.Sprintf("submit job %q", specs[i].Job.Name),
				Detail: fmt.Sprintf("job: %d bytes with its command and environment, expected at most %d: it is kept in an object of Kubernetes", len(body), maxHomeJob),
			}
		}
	}
	return nil
}

// homeJobs gives the jobs of records, in the order in which they were submitted.
func homeJobs(records []kube.Record) ([]*homeJob, error) {
	var all []*homeJob
	for i := range records {
		if records[i].Kind != kube.JobRecord {
			continue
		}
		r := &homeJob{ID: poise.JobID(records[i].Name)}
		if err := readRecord(&records[i], r); err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *homeJob) int { return cmp.Or(cmp.Compare(a.Submitted, b.Submitted), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func readRecord(r *kube.Record, into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return &poise.Error{Kind: poise.Internal, Op: fmt.Sprintf("read %s record %q", r.Kind, r.Name), Err: err}
	}
	return nil
}

func labelMap(labels []poise.Label) map[string]string {
	all := make(map[string]string, len(labels))
	for _, l := range labels {
		all[l.Key] = l.Value
	}
	return all
}
