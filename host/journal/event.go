package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
)

// Schema is the number of the bodies' present form.
const Schema = 1

// Entry is an event as it is kept.
type Entry struct {
	Index  uint64     `json:"index"`
	At     poise.Time `json:"at"`
	Kind   string     `json:"kind"`
	Schema int        `json:"schema"`
	Body   []byte     `json:"-"`
}

// builtModel is the body of a ModelBuilt.
type builtModel struct {
	Model  *model.Record
	Labels []poise.NodeLabels
}

// readers has one per kind of event.
var readers = map[string]func(body []byte) (poise.Body, error){
	poise.NodeJoined{}.EventKind():    read[poise.NodeJoined],
	poise.NodeChanged{}.EventKind():   read[poise.NodeChanged],
	poise.NodeMarked{}.EventKind():    read[poise.NodeMarked],
	poise.NodeLeft{}.EventKind():      read[poise.NodeLeft],
	poise.NodeOccupied{}.EventKind():  read[poise.NodeOccupied],
	poise.NodeVacated{}.EventKind():   read[poise.NodeVacated],
	poise.SpaceSet{}.EventKind():      read[poise.SpaceSet],
	poise.JobEnding{}.EventKind():     read[poise.JobEnding],
	poise.JobSubmitted{}.EventKind():  read[poise.JobSubmitted],
	poise.JobAdopted{}.EventKind():    read[poise.JobAdopted],
	poise.JobPlaced{}.EventKind():     read[poise.JobPlaced],
	poise.GangPlaced{}.EventKind():    read[poise.GangPlaced],
	poise.JobFinished{}.EventKind():   read[poise.JobFinished],
	poise.JobRequeued{}.EventKind():   read[poise.JobRequeued],
	poise.JobPreempted{}.EventKind():  read[poise.JobPreempted],
	poise.JobSpared{}.EventKind():     read[poise.JobSpared],
	poise.JobWithdrawn{}.EventKind():  read[poise.JobWithdrawn],
	poise.JobHeld{}.EventKind():       read[poise.JobHeld],
	poise.JobReleased{}.EventKind():   read[poise.JobReleased],
	poise.ProfileBuilt{}.EventKind():  read[poise.ProfileBuilt],
	poise.SymbolsWanted{}.EventKind(): read[poise.SymbolsWanted],
	poise.ModelBuilt{}.EventKind():    readModel,

	poise.ReservationMade{}.EventKind():  read[poise.ReservationMade],
	poise.ReservationEnded{}.EventKind(): read[poise.ReservationEnded],

	poise.JobPrioritySet{}.EventKind():    read[poise.JobPrioritySet],
	poise.SchedulerSet{}.EventKind():      read[poise.SchedulerSet],
	poise.PolicySet{}.EventKind():         read[poise.PolicySet],
	poise.PolicyRolledBack{}.EventKind():  read[poise.PolicyRolledBack],
	poise.PolicyCleared{}.EventKind():     read[poise.PolicyCleared],
	poise.PolicyQuarantined{}.EventKind(): read[poise.PolicyQuarantined],
	poise.TenantSet{}.EventKind():         read[poise.TenantSet],
	poise.TenantRemoved{}.EventKind():     read[poise.TenantRemoved],
}

func read[B poise.Body](body []byte) (poise.Body, error) {
	var b B
	err := strict(body, &b)
	return b, err
}

func readModel(body []byte) (poise.Body, error) {
	var b builtModel
	if err := strict(body, &b); err != nil {
		return nil, err
	}
	if b.Model == nil {
		return nil, fmt.Errorf("model: none, expected a record")
	}
	if _, err := model.Restore(*b.Model); err != nil {
		return nil, err
	}
	return poise.ModelBuilt{Model: b.Model, Labels: b.Labels}, nil
}

// strict reads JSON of known fields only: an unknown one was written by a later
// version, and leaving it out would decide otherwise than that version did.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if !json.Valid(body) {
		return fmt.Errorf("more text after the object, expected one JSON object")
	}
	return nil
}

// Encode gives an event as it is kept.
func Encode(ev poise.Event) (Entry, error) {
	e := Entry{Index: ev.Index, At: ev.At, Kind: ev.Body.EventKind(), Schema: Schema}
	var value any = ev.Body
	if b, ok := ev.Body.(poise.ModelBuilt); ok {
		record, ok := b.Model.(*model.Record)
		if !ok {
			return e, invalid(e, fmt.Sprintf("model %T, expected one of package model", b.Model), nil)
		}
		value = builtModel{Model: record, Labels: b.Labels}
	}
	body, err := json.Marshal(value)
	if err != nil {
		return e, invalid(e, "encode", err)
	}
	e.Body = body
	return e, nil
}

// Decode gives the event of an entry.
func Decode(e Entry) (poise.Event, error) {
	if e.Schema != Schema {
		return poise.Event{}, invalid(e, fmt.Sprintf("schema: %d, expected %d: a later version wrote it", e.Schema, Schema), nil)
	}
	reader, ok := readers[e.Kind]
	if !ok {
		return poise.Event{}, invalid(e, fmt.Sprintf("kind: expected one of %v", slices.Sorted(maps.Keys(readers))), nil)
	}
	body, err := reader(e.Body)
	if err != nil {
		return poise.Event{}, invalid(e, "body", err)
	}
	return poise.Event{Index: e.Index, At: e.At, Body: body}, nil
}

func invalid(e Entry, detail string, err error) error {
	return &poise.Error{Kind: poise.Invalid, Op: fmt.Sprintf("event %d %q", e.Index, e.Kind), Detail: detail, Err: err}
}
