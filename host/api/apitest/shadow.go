package apitest

import (
	"context"
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// SetShadow sets what the shadow of a tenant has shown.
func (b *Backend) SetShadow(tenant poise.TenantID, s client.Shadow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shadows[tenant] = s
}

// SetCases sets the recorded cases of every tenant, and the scene of each.
func (b *Backend) SetCases(cases client.RecordedCases, scene client.Scene) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cases, b.scene = cases, scene
}

// StartShadow implements api.Shadows.
func (b *Backend) StartShadow(_ context.Context, tenant poise.TenantID, spec client.ShadowSpec, by string) (client.Shadow, error) {
	if err := b.begin(); err != nil {
		return client.Shadow{}, err
	}
	defer b.mu.Unlock()
	if there, ok := b.shadows[tenant]; ok {
		return there, &poise.Error{Kind: poise.Conflict, Op: "start shadow", Detail: fmt.Sprintf("plugin %q is one already", there.Plugin)}
	}
	s := client.Shadow{
		Tenant: string(tenant), Plugin: spec.Plugin, Params: spec.Params, Weight: spec.Weight, OnFailure: spec.OnFailure, By: by, Since: at,
		Digest: "sha256:00", Latest: []client.ShadowDifference{}, Largest: []client.ShadowDifference{},
	}
	b.shadows[tenant] = s
	return s, nil
}

// Shadow implements api.Shadows.
func (b *Backend) Shadow(_ context.Context, tenant poise.TenantID) (client.Shadow, error) {
	if err := b.begin(); err != nil {
		return client.Shadow{}, err
	}
	defer b.mu.Unlock()
	s, ok := b.shadows[tenant]
	if !ok {
		return s, missing("shadow of tenant", string(tenant))
	}
	return s, nil
}

// StopShadow implements api.Shadows.
func (b *Backend) StopShadow(_ context.Context, tenant poise.TenantID) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.mu.Unlock()
	if _, ok := b.shadows[tenant]; !ok {
		return missing("shadow of tenant", string(tenant))
	}
	delete(b.shadows, tenant)
	return nil
}

// RerunShadow implements api.Shadows: it is done at once.
func (b *Backend) RerunShadow(ctx context.Context, tenant poise.TenantID) (client.ShadowRerun, error) {
	s, err := b.Shadow(ctx, tenant)
	if err != nil {
		return client.ShadowRerun{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Fleet == nil {
		s.Fleet = &client.ShadowRerun{Live: client.ShadowFleet{Fill: map[string]float64{}}, Would: client.ShadowFleet{Fill: map[string]float64{}}}
		b.shadows[tenant] = s
	}
	return *s.Fleet, nil
}

// RecordedCases implements api.Shadows.
func (b *Backend) RecordedCases(context.Context, poise.TenantID, client.CaseFilter) (client.RecordedCases, error) {
	if err := b.begin(); err != nil {
		return client.RecordedCases{}, err
	}
	defer b.mu.Unlock()
	c := b.cases
	c.Cases = append([]client.RecordedCase{}, c.Cases...)
	return c, nil
}

// Scene implements api.Shadows.
func (b *Backend) Scene(context.Context, poise.TenantID, uint64, string) (client.Scene, error) {
	if err := b.begin(); err != nil {
		return client.Scene{}, err
	}
	defer b.mu.Unlock()
	s := b.scene
	s.Nodes, s.Running = append([]client.NodeSpec{}, s.Nodes...), append([]client.SceneTask{}, s.Running...)
	if s.Job.Request == nil {
		s.Job.Request = map[string]client.Quantity{}
	}
	return s, nil
}
