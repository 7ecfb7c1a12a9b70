package daemon

import (
	"context"
	"slices"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	compare "github.com/poise-sched/poise/host/shadow"
)

// Shadow implements api.Shadows.
func (d *Daemon) Shadow(ctx context.Context, tenant poise.TenantID) (client.Shadow, error) {
	sh, err := d.running(ctx, tenant)
	if err != nil {
		return client.Shadow{}, err
	}
	k := sh.now()
	a, t := &k.Activation, &k.Tally
	v := client.Shadow{
		Tenant: string(tenant), Plugin: a.Plugin, Version: a.Version, Digest: a.Digest, Params: a.Params, Weight: a.Weight, OnFailure: a.OnFailure,
		By: k.By, Since: client.At(k.Since), Decisions: t.Decisions, Dropped: t.Dropped, Agreed: t.Agreed, Agreement: t.Agreement(),
		SameVerdict: t.SameVerdict, Verdicts: t.VerdictAgreement(), Faulted: t.Faulted, Faults: t.Faults,
		Fuel: client.ShadowFuel{Most: t.MostFuel, Budget: k.Budget, PerSecond: sh.tools.rate()},
		Cost: spreadView(&t.Cost), Gain: spreadView(&t.Gain), Latest: []client.ShadowDifference{}, Largest: []client.ShadowDifference{},
	}
	if t.Decisions > 0 {
		v.Fuel.PerDecision = float64(t.Fuel) / float64(t.Decisions)
	}
	for i := range slices.Backward(t.Latest) {
		v.Latest = append(v.Latest, differenceView(&t.Latest[i]))
	}
	for i := range t.Largest {
		v.Largest = append(v.Largest, differenceView(&t.Largest[i]))
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	v.Fleet = rerunView(sh.fleet)
	return v, nil
}

func spreadView(s *compare.Spread) client.ShadowSpread {
	v := client.ShadowSpread{Count: s.Count, Most: s.Most}
	if s.Count == 0 {
		return v
	}
	v.Mean = s.Sum / float64(s.Count)
	ends := compare.BandEnds()
	for i, n := range s.Bands {
		b := client.ShadowBand{Count: n}
		if i < len(ends) {
			b.UpTo = &ends[i]
		}
		v.Bands = append(v.Bands, b)
	}
	return v
}

func choiceView(c compare.Choice) client.ShadowChoice {
	return client.ShadowChoice{Verdict: client.NewDecision(&poise.Decision{Verdict: c.Verdict}).Verdict, Node: c.Node, Devices: c.Devices, Domain: c.Domain, Reason: c.Reason}
}

func differenceView(d *compare.Difference) client.ShadowDifference {
	v := client.ShadowDifference{
		Index: d.Index, At: client.At(d.At), Job: string(d.Job), Name: d.Name, Live: choiceView(d.Live), Would: choiceView(d.Would),
		LiveOnLive: client.ShadowOpinion(d.LiveOnLive), LiveOnWould: client.ShadowOpinion(d.LiveOnWould),
		WouldOnLive: client.ShadowOpinion(d.WouldOnLive), WouldOnOwn: client.ShadowOpinion(d.WouldOnWould),
	}
	if g := d.Gang; g != nil {
		v.Gang = &client.ShadowGang{Tasks: g.Tasks, Differ: g.Differ, Members: make([]client.ShadowMember, len(g.Members))}
		for i := range g.Members {
			m := &g.Members[i]
			v.Gang.Members[i] = client.ShadowMember{Job: string(m.Job), Index: m.Index, Live: choiceView(m.Live), Would: choiceView(m.Would)}
		}
	}
	return v
}

func rerunView(r *redecision) *client.ShadowRerun {
	if r == nil {
		return nil
	}
	v := &client.ShadowRerun{
		Running: r.Running, From: r.From, To: r.To, Live: fleetView(&r.Live), Would: fleetView(&r.Would),
		Decided: r.Moves.Decided, Moved: r.Moves.Moved, Displaced: r.Moves.Displaced, Waiting: r.Moves.Waiting, Placed: r.Moves.Placed,
	}
	if r.Err != nil {
		v.Error = r.Err.Error()
	}
	return v
}

func fleetView(f *compare.Fleet) client.ShadowFleet {
	v := client.ShadowFleet{Fill: f.Fill, Stranded: f.Stranded, Balance: f.Balance}
	if v.Fill == nil {
		v.Fill = map[string]float64{}
	}
	return v
}

// RerunShadow implements api.Shadows.
func (d *Daemon) RerunShadow(ctx context.Context, tenant poise.TenantID) (client.ShadowRerun, error) {
	sh, err := d.running(ctx, tenant)
	if err != nil {
		return client.ShadowRerun{}, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.fleet != nil && sh.fleet.Running {
		return *rerunView(sh.fleet), nil
	}
	to := d.store.Last()
	sh.fleet = &redecision{Running: true, To: to}
	sh.gone.Go(func() {
		r := &redecision{To: to, Err: stopping()}
		select {
		case sh.tools.reruns <- struct{}{}:
			r = sh.redecide(sh.ctx, d.store, to)
			<-sh.tools.reruns
		case <-sh.ctx.Done():
		}
		sh.mu.Lock()
		defer sh.mu.Unlock()
		sh.fleet = r
	})
	return *rerunView(sh.fleet), nil
}
