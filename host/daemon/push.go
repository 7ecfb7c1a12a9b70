package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/poise-sched/poise/abi"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/policy"
	"github.com/poise-sched/poise/host/registry"
	"github.com/poise-sched/poise/host/sched"
	"github.com/poise-sched/poise/host/state"
	"github.com/poise-sched/poise/host/store"
)

const (
	// maxVersions bounds what a tenant may have lying in the store.
	maxVersions = 200
	// trialJobs is how many kinds of job a push is tried on.
	trialJobs = 16
	// nearBudget is the part of the fuel above which a push warns.
	nearBudget = 0.5
)

// newGate makes what lets pushes in. A processor is left for deciding.
func newGate() *registry.Gate { return registry.NewGate(planners(), time.Now) }

// PushPlugin implements api.Plugins.
func (d *Daemon) PushPlugin(ctx context.Context, tenant poise.TenantID, p client.PluginPush, by string) (client.PluginVersion, error) {
	v, err := d.push(ctx, tenant, p, by)
	if err != nil {
		err = fmt.Errorf("push: %w", err)
	}
	return v, err
}

func (d *Daemon) push(ctx context.Context, tenant poise.TenantID, p client.PluginPush, by string) (client.PluginVersion, error) {
	var none client.PluginVersion
	most := int64(d.options.Config.Current().Config.Policy.Limits.Module)
	if int64(len(p.Module)) > most {
		return none, &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("module: %d bytes, expected at most %d, which is policy.limits.module", len(p.Module), most)}
	}
	if p.Tag != "" {
		if err := registry.ValidateTag(p.Tag); err != nil {
			return none, err
		}
	}
	leave, err := d.gate.Enter(ctx, tenant)
	if err != nil {
		return none, err
	}
	defer leave()
	row := store.VersionRow{Tenant: string(tenant), Digest: digestOf(p.Module), At: int64(d.core.now()), By: by, Signature: []byte(p.Signature)}
	known, err := d.pushed(ctx, &row)
	if err != nil {
		return none, err
	}
	f := findings{Size: len(p.Module)}
	signature := []byte(p.Signature)
	if len(signature) == 0 {
		signature = row.Signature // of the version that is there
	}
	if f.Key, err = d.signed(ctx, tenant, p.Module, signature); err != nil {
		return none, err
	}
	if !known {
		if err := d.examine(ctx, tenant, &p, &row, &f); err != nil {
			return none, err
		}
	}
	if row.Body == nil {
		if row.Body, err = json.Marshal(f); err != nil {
			return none, err
		}
	}
	// Nothing is collected between here and the answer.
	d.changing.Lock()
	defer d.changing.Unlock()
	if err := d.store.PutVersion(ctx, row, p.Module, p.Tag); err != nil {
		return none, err
	}
	if err := d.keepPlugins(ctx, row.Tenant); err != nil {
		return none, err
	}
	names, err := d.tags(ctx, []store.VersionRow{row})
	if err != nil {
		return none, err
	}
	v, err := versionView(&row, names)
	v.Checks = f.Checks
	return v, err
}

// pushed says whether the tenant has a version of the module already, and fills
// it in. Where it has as many versions as it may, another is refused.
func (d *Daemon) pushed(ctx context.Context, row *store.VersionRow) (bool, error) {
	rows, err := d.store.Versions(ctx, row.Tenant, "")
	if err != nil {
		return false, err
	}
	for i := range rows {
		if rows[i].Digest == row.Digest {
			*row = rows[i]
			return true, nil
		}
	}
	if len(rows) >= maxVersions {
		return false, &poise.Error{Kind: poise.Limit, Detail: fmt.Sprintf("versions: %d are there, expected fewer than %d: poise plugin delete removes one", len(rows), maxVersions)}
	}
	return false, nil
}

// signed checks a signature where there is one, or where the tenant wants one,
// and gives the id of the key.
func (d *Daemon) signed(ctx context.Context, tenant poise.TenantID, bin, signature []byte) (key string, err error) {
	now, err := d.inForce(ctx)
	if err != nil {
		return "", err
	}
	if t := now.Tenant(tenant); t != nil && (t.Signed || len(signature) > 0 && len(t.Keys) > 0) {
		if err := registry.CheckSignature(bin, signature, t.Keys); err != nil {
			return "", err
		}
	}
	if len(signature) == 0 {
		return "", nil
	}
	return registry.KeyOf(signature)
}

// examine finds out what a module is and whether it is fit for use. What it costs
// is borne by child processes and the fuel that a decision has.
func (d *Daemon) examine(ctx context.Context, tenant poise.TenantID, p *client.PluginPush, row *store.VersionRow, f *findings) error {
	now, err := d.inForce(ctx)
	if err != nil {
		return err
	}
	m, err := d.builder.Load(ctx, now.Scheduler().Limits, p.Module)
	if poise.KindOf(err) == poise.Limit { // of its set-up: to push it later is no better
		return &poise.Error{Kind: poise.Invalid, Err: err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = m.Close(ctx) }() // it has no error to give
	if err := registry.ValidateName(m.Manifest.Name, m.Manifest.Version); err != nil {
		return err
	}
	row.Plugin, row.Version = m.Manifest.Name, m.Manifest.Version
	if err := d.versionFree(ctx, row); err != nil {
		return err
	}
	params := registry.TrialParams(m.Manifest, p.Params)
	if _, err := m.Manifest.Settings(params); err != nil {
		return &poise.Error{Kind: poise.Invalid, Op: "parameter", Err: err}
	}
	f.Description, f.Exports = m.Manifest.Description, exports(m)
	fleet := d.board.current.Load().snap.Nodes()
	report, err := registry.Conform(ctx, d.options.Conform, p.Module, d.builder.Limits(now.Scheduler().Limits), params, fleet)
	if err != nil {
		return err
	}
	for _, c := range report {
		f.Checks = append(f.Checks, client.PluginCheck{Name: c.Name, Outcome: string(c.Outcome), Detail: c.Detail})
		if string(c.Outcome) == registry.Warn {
			f.Warnings = append(f.Warnings, c.Name+": "+c.Detail)
		}
	}
	trial, err := d.trial(ctx, tenant, m, p.Module, params)
	if trial.Outcome == registry.Warn {
		f.Warnings = append(f.Warnings, trial.Name+": "+trial.Detail)
	}
	f.Checks = append(f.Checks, trial)
	return err
}

// versionFree refuses a version that is another module already, before its checks
// cost anything.
func (d *Daemon) versionFree(ctx context.Context, row *store.VersionRow) error {
	rows, err := d.store.Versions(ctx, row.Tenant, row.Plugin)
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].Version == row.Version && rows[i].Digest != row.Digest {
			return &poise.Error{Kind: poise.Conflict, Op: fmt.Sprintf("version %s of plugin %q", row.Version, row.Plugin), Detail: fmt.Sprintf(
				"digest: %s, expected %s: a version stays what it is, give the module another one", row.Digest, rows[i].Digest)}
		}
	}
	return nil
}

// trial plans the tenant's jobs as they are recorded, one of each kind, with the
// plugin on top. It works on a state of its own, read from the store.
func (d *Daemon) trial(ctx context.Context, tenant poise.TenantID, m *policy.Module, bin []byte, params map[string]string) (client.PluginCheck, error) {
	check := client.PluginCheck{Name: "this-fleet", Outcome: registry.Pass}
	st, err := stateAt(ctx, d.store, d.store.Last())
	if err != nil {
		return check, err
	}
	a := poise.Activation{
		Tenant: tenant, Plugin: m.Manifest.Name, Version: m.Manifest.Version, Digest: m.Digest, Params: params, OnFailure: ruleOf(m),
	}
	built, err := d.builder.BuildTrial(ctx, st.Policies(), &a, bin)
	if err != nil {
		return check, err
	}
	defer built.Close()
	top := &built.Layers[len(built.Layers)-1]
	if top.Fault != nil {
		return check, top.Fault
	}
	if w := built.Symbols; len(w.Labels)+len(w.Values) > 0 {
		if err := st.Apply(poise.Event{Index: st.Index() + 1, At: st.View().At(), Body: w}); err != nil {
			return check, err
		}
	}
	jobs, err := trialOf(st, tenant)
	if err != nil {
		return check, err
	}
	pipeline := sched.NewPipeline(built.Policy)
	var share float64
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return check, unavailable(ctx)
		}
		if _, err := pipeline.Plan(st.View(), j, sched.Pass{Detail: sched.Brief}); err != nil {
			return check, err
		}
		if n := faultCount(top.Guest.Counters().Read()); n > 0 {
			return check, &poise.Error{Kind: poise.Invalid, Op: "try it on this fleet", Err: errors.New(faultText(pipeline, st, j))}
		}
		if use := top.Guest.Use(); use.Rows > 0 {
			share = max(share, float64(use.Fuel)/float64(top.Guest.Budget(int(use.Rows))))
		}
	}
	check.Detail = fmt.Sprintf("%d kinds of job on %d nodes, %.1f %% of the budget at most", len(jobs), st.View().Nodes(), 100*share)
	if share > nearBudget {
		check.Outcome = registry.Warn
	}
	return check, nil
}

// faultText plans a job again and gives the fault that came of it.
func faultText(p *sched.Pipeline, st *state.State, j *state.Job) string {
	d, err := p.Plan(st.View(), j, sched.Pass{Detail: sched.Brief})
	if err != nil {
		return err.Error()
	}
	return d.Fault
}

// trialOf gives the latest job of each kind that the tenant has, or anybody for
// "", and one that fits everywhere where there is none.
func trialOf(st *state.State, tenant poise.TenantID) ([]*state.Job, error) {
	var jobs []*state.Job
	seen := map[uint32]bool{}
	all := st.All()
	for i := len(all) - 1; i >= 0 && len(jobs) < trialJobs; i-- {
		if j := all[i]; (tenant == "" || j.Tenant == tenant) && !seen[j.Shape.ID] {
			seen[j.Shape.ID] = true
			jobs = append(jobs, j)
		}
	}
	if len(jobs) > 0 {
		return jobs, nil
	}
	small, err := st.Draft(smallJob(tenant), st.View().At())
	return []*state.Job{small}, err
}

// smallJob is one that fits everywhere.
func smallJob(tenant poise.TenantID) *poise.Job {
	if tenant == "" {
		tenant = poise.DefaultTenant
	}
	return &poise.Job{ID: "trial", Name: "trial", Tenant: tenant, Tasks: 1}
}

// exports names the extension points that a module takes part in.
func exports(m *policy.Module) []string {
	all := []string{}
	if m.Exports(abi.Filter) {
		all = append(all, "filter")
	}
	if m.Exports(abi.Score) {
		all = append(all, "score")
	}
	return all
}

func faultCount(c policy.Counts) (n int64) {
	for _, count := range c.Faults {
		n += count
	}
	return n
}

func digestOf(bin []byte) string {
	sum := sha256.Sum256(bin)
	return "sha256:" + hex.EncodeToString(sum[:])
}
