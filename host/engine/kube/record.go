package kube

import (
	"context"
	"time"

	"github.com/poise-sched/poise/host/resource"
)

// RecordKind says what a record is of, and with it which objects it is kept in.
type RecordKind string

// The kinds of records.
const (
	TenantRecord RecordKind = "tenant" // a ConfigMap
	SecretRecord RecordKind = "secret" // a Secret
	ModuleRecord RecordKind = "module" // ConfigMaps, each with a part of at most 900 KiB
	JobRecord    RecordKind = "job"    // a suspended Job
)

// Record is something of a daemon that survives it.
type Record struct {
	Kind    RecordKind
	Name    string       // any text in UTF-8
	Body    []byte       // JSON; of a module its bytes
	Job     *JobTemplate // of a JobRecord that is put
	Created time.Time    // of a record that was read, in whole seconds
}

// JobTemplate is what the object of a JobRecord shows to whoever reads it with
// kubectl. Poise reads the record's body alone.
type JobTemplate struct {
	Image      string // "" = none
	Command    []string
	Amounts    resource.List // base units
	Devices    int
	DeviceKind string
	Labels     map[string]string
}

// Records gives all records, by kind and name.
func (h *Home) Records(ctx context.Context) ([]Record, error) { return nil, errNotYet }

// Put creates or replaces a record.
func (h *Home) Put(ctx context.Context, r Record) error { return errNotYet }

// Drop removes a record; one that is not there is no error.
func (h *Home) Drop(ctx context.Context, kind RecordKind, name string) error { return errNotYet }
