package api

import (
	"context"
	"net/http"

	"github.com/poise-sched/poise/host/advice"
	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

func (s *server) adviceRoutes() {
	handle(s, http.MethodGet, "/v1/fleet/advice", "advise-fleet", "Which nodes would help the jobs that wait, and which nobody needs", func(ctx context.Context, _ *struct{}) (*body[client.Advice], error) {
		a, err := s.backend.Advice(ctx)
		return answer(a, err)
	})
}

// NewAdvice gives advice as it goes over the wire.
func NewAdvice(a *advice.Advice) client.Advice {
	w := client.Advice{
		Index: a.Index, Waiting: a.Waiting, Fits: a.Fits, Blocked: a.Blocked, Over: a.Over, Lacking: a.Lacking,
		Classes: []client.ClassAdvice{}, Together: []client.AdviceStep{}, Helpless: []client.HelplessJobs{}, Unneeded: []client.UnneededNodes{},
	}
	for i := range a.Classes {
		c := &a.Classes[i]
		d := &c.Node.Devices
		w.Classes = append(w.Classes, client.ClassAdvice{
			Class: c.Name, Nodes: c.Nodes, Capacity: quantities(c.Node.Capacity, d.Kind, int64(d.Count)*poise.WholeDevice), Model: d.Model,
			More: c.More, AtLeast: c.AtLeast, Starts: c.Starts, Left: c.Left,
		})
	}
	for _, s := range a.Together {
		w.Together = append(w.Together, client.AdviceStep{Class: s.Class, Nodes: s.Nodes, Starts: s.Jobs})
	}
	for i := range a.Helpless {
		h := &a.Helpless[i]
		jobs := client.HelplessJobs{
			Job: string(h.Job), Name: h.Name, Tenant: string(h.Tenant), Jobs: h.Jobs,
			Request: quantities(h.Request.Amounts, h.Request.Device.Kind, h.Request.Device.Total()),
		}
		if h.Miss != nil {
			m := client.NewMiss(*h.Miss)
			jobs.Nearest = &m
		}
		w.Helpless = append(w.Helpless, jobs)
	}
	for _, u := range a.Unneeded {
		w.Unneeded = append(w.Unneeded, client.UnneededNodes{Class: u.Class, Nodes: u.Nodes})
	}
	return w
}

func quantities(amounts resource.List, kind string, devices int64) map[string]client.Quantity {
	q := map[string]client.Quantity{}
	for _, a := range amounts {
		q[a.Name] = client.Quantity(resource.Format(a.Name, a.Value))
	}
	if devices > 0 {
		q[kind] = client.Quantity(resource.Format(kind, devices))
	}
	return q
}
