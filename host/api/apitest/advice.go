package apitest

import (
	"context"

	"github.com/poise-sched/poise/host/api/client"
)

// Advice implements api.Backend.
func (b *Backend) Advice(context.Context) (client.Advice, error) {
	return client.Advice{
		Waiting: 2, Lacking: 2,
		Classes:  []client.ClassAdvice{{Class: "cpu", Nodes: 1, Capacity: map[string]client.Quantity{"cpu": "4"}, More: 1, AtLeast: 1, Starts: 2}},
		Together: []client.AdviceStep{{Class: "cpu", Nodes: 1, Starts: 2}}, Helpless: []client.HelplessJobs{}, Unneeded: []client.UnneededNodes{},
	}, b.Fault
}
