package apitest

import (
	"context"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// changeJob does something to one job.
func (b *Backend) changeJob(tenant poise.TenantID, nameOrID string, f func(*client.Job)) (client.Job, error) {
	if err := b.begin(); err != nil {
		return client.Job{}, err
	}
	defer b.mu.Unlock()
	j := b.find(tenant, nameOrID)
	if j == nil {
		return client.Job{}, missing("job", nameOrID)
	}
	f(j)
	return *j, nil
}

// Hold implements api.Backend.
func (b *Backend) Hold(_ context.Context, tenant poise.TenantID, nameOrID, by string) (client.Job, error) {
	return b.changeJob(tenant, nameOrID, func(j *client.Job) { j.Held = by })
}

// Release implements api.Backend.
func (b *Backend) Release(_ context.Context, tenant poise.TenantID, nameOrID string) (client.Job, error) {
	return b.changeJob(tenant, nameOrID, func(j *client.Job) { j.Held = "" })
}

// SetPriority implements api.Backend.
func (b *Backend) SetPriority(_ context.Context, tenant poise.TenantID, nameOrID string, priority int32, _ string) (client.Job, error) {
	return b.changeJob(tenant, nameOrID, func(j *client.Job) { j.Spec.Priority = priority })
}

// Sweep implements api.Backend.
func (b *Backend) Sweep(_ context.Context, tenant poise.TenantID, action client.JobAction, selectors []poise.Selector, by string) (client.Swept, error) {
	if err := b.begin(); err != nil {
		return client.Swept{}, err
	}
	defer b.mu.Unlock()
	swept := client.Swept{}
	for i := range b.jobs {
		j := &b.jobs[i]
		if tenant != "" && j.Tenant != string(tenant) || j.State.Ended() || !matches(j, selectors) {
			continue
		}
		swept.Jobs++
		switch action {
		case client.CancelJobs:
			j.State = client.Withdrawn
		case client.HoldJobs:
			j.Held = by
		case client.ReleaseJobs:
			j.Held = ""
		}
	}
	return swept, nil
}

// matches says whether a job's labels match.
func matches(j *client.Job, selectors []poise.Selector) bool {
	var labels []poise.Label
	for key, value := range j.Spec.Labels {
		labels = append(labels, poise.Label{Key: key, Value: value})
	}
	return poise.MatchAll(selectors, labels)
}
