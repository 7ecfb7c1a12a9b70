package state

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/host/resource"
)

func occupied(id, node string, cpu int, p *poise.Pod) poise.Body {
	return poise.NodeOccupied{Occupant: poise.Occupant{ID: id, Name: id, Node: node, Request: poise.Request{Amounts: amounts("cpu", cpu)}, Pod: p}}
}

func pod(space string, ports ...poise.Port) *poise.Pod {
	return &poise.Pod{Cluster: "c", Space: space, Ports: ports}
}

// An occupant takes more than there is, dimensions that no node has are passed
// over, and a node that shrinks, leaves or comes back counts what is on it.
func TestOccupants(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: amounts("cpu", 10), Devices: poise.Devices{Kind: "gpu", Count: 2}}})
	d.refused(t, `occupy node "b": no such node`, occupied("o", "b", 1, nil))
	d.refused(t, `vacate occupant "o": no such occupant`, poise.NodeVacated{ID: "o"})
	d.refused(t, `occupant "o": cluster: empty, expected a name`, occupied("o", "a", 1, &poise.Pod{Space: "s"}))
	f := func(allocated int64, free ...uint16) {
		t.Helper()
		row := d.row(t, "a")
		if got := d.View().Allocated(row, 0); got != allocated || fmt.Sprint(d.View().Free(row)) != fmt.Sprint(free) {
			t.Errorf("allocated %d, free %v; expected %d, %v", got, d.View().Free(row), allocated, free)
		}
	}
	big := poise.Occupant{ID: "o", Name: "o", Node: "a", Request: poise.Request{Amounts: amounts("cpu", 40, "fpga", 3), Device: poise.DeviceRequest{Kind: "gpu", Count: 3, Milli: 1000}}}
	d.do(t, poise.NodeOccupied{Occupant: big})
	f(40, 0, 0)
	big.Request.Device.Count = 1
	d.do(t, poise.NodeOccupied{Occupant: big}, occupied("p", "a", 1, nil))
	f(41, 0, 1000)
	d.do(t, poise.NodeChanged{Node: poise.Node{Name: "a", Capacity: amounts("fpga", 1), Devices: poise.Devices{Kind: "gpu", Count: 3}}})
	f(41, 0, 1000, 1000)
	d.do(t, poise.NodeVacated{ID: "o"})
	f(1, 1000, 1000, 1000)
	d.do(t, poise.NodeLeft{Name: "a"}, poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: amounts("cpu", 10)}})
	f(0)
	if d.Occupant("p") != nil {
		t.Error("the occupant of a node that left is there")
	}
}

// A port that a task or an occupant has is taken, and free again when it is gone.
func TestPorts(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, poise.NodeJoined{Node: poise.Node{Name: "a", Capacity: amounts("cpu", 10)}})
	tcp := func(ip string, number int32) poise.Port { return poise.Port{Protocol: "TCP", IP: ip, Number: number} }
	f := func(want bool, p poise.Port) {
		t.Helper()
		if got := d.View().Taken(d.row(t, "a"), []poise.Port{p}) != nil; got != want {
			t.Errorf("%s: taken %t, expected %t", p.String(), got, want)
		}
	}
	d.do(t, occupied("o", "a", 1, pod("s", tcp("10.0.0.1", 80))))
	f(true, tcp("", 80))
	f(true, tcp("10.0.0.1", 80))
	f(false, tcp("10.0.0.2", 80))
	f(false, tcp("", 81))
	f(false, poise.Port{Protocol: "UDP", Number: 80})
	j := job("j", poise.Request{})
	j.Pod = pod("s", tcp("", 443))
	k := j
	k.ID = "k"
	d.do(t, poise.JobSubmitted{Job: j}, poise.JobSubmitted{Job: k}, placed("j", "a"))
	f(true, tcp("::1", 443))
	d.refused(t, `place job "k" on node "a": port TCP 443: taken`, placed("k", "a"))
	d.do(t, poise.JobFinished{Job: "j"}, poise.NodeVacated{ID: "o"}, placed("k", "a"))
	f(false, tcp("", 80))
}

// Whatever comes and goes, the sums of a row, and what is counted by kind, are those
// of what is there, and a state that was written down is the same one.
func TestOccupantsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t, 0)
		type thing struct {
			node   string
			cpu    int64
			app    string
			ending bool
		}
		there, nodes := map[string]thing{}, map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"o", "p", "q"}).Draw(t, "id")
			node := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node")
			x := thing{node, rapid.Int64Range(0, 9).Draw(t, "cpu"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "app"), rapid.Bool().Draw(t, "ending")}
			var body poise.Body
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				if body = (poise.NodeJoined{Node: poise.Node{Name: node, Capacity: amounts("cpu", 5)}}); nodes[node] {
					body = poise.NodeLeft{Name: node}
				}
			case 1:
				body = poise.NodeVacated{ID: id}
			case 2:
				j := job(id, poise.Request{Amounts: resource.List{{Name: "cpu", Value: min(x.cpu, 1)}}})
				j.Pod, j.Labels = pod("s"), []poise.Label{{Key: "app", Value: x.app}}
				if _ = d.try(poise.JobSubmitted{Job: j}); d.Job(j.ID).Waiting() {
					body = placed(id, node)
				} else {
					body = poise.JobFinished{Job: j.ID}
				}
			default:
				body = poise.NodeOccupied{Occupant: poise.Occupant{
					ID: id, Name: id, Node: x.node, Request: poise.Request{Amounts: resource.List{{Name: "cpu", Value: x.cpu}}},
					Labels: []poise.Label{{Key: "app", Value: x.app}}, Pod: pod("s"), Ending: x.ending,
				}}
			}
			if d.try(body) != nil {
				continue
			}
			switch b := body.(type) {
			case poise.NodeJoined:
				nodes[node] = true
			case poise.NodeLeft:
				delete(nodes, node)
				for k, o := range there {
					if o.node == node {
						delete(there, k)
					}
				}
			case poise.NodeVacated:
				delete(there, b.ID)
			case poise.NodeOccupied:
				there[id] = x
			case poise.JobPlaced:
				j := d.Job(poise.JobID(id))
				cpu, _ := j.Shape.Request.Amounts.Find("cpu")
				there["job "+id] = thing{node, cpu, j.Kind.Labels[0].Value, false}
			case poise.JobFinished:
				delete(there, "job "+id)
			}
			again := writtenDown(t, d.State, 0)
			for _, s := range []*State{d.State, again} {
				for name := range nodes {
					row, _ := s.Row(name)
					sum, kinds := int64(0), map[string]int32{}
					for _, o := range there {
						if o.node != name {
							continue
						}
						sum += o.cpu
						kinds[o.app]++
						if o.ending {
							kinds[o.app+" ending"]++
						}
					}
					got := map[string]int32{}
					for _, k := range s.PodKinds() {
						k.Each(func(on uint32, all, ending int32) {
							if on == row {
								got[k.Labels[0].Value] += all
								if ending > 0 {
									got[k.Labels[0].Value+" ending"] += ending
								}
							}
						})
					}
					if a := s.View().Allocated(row, 0); a != sum || fmt.Sprint(got) != fmt.Sprint(kinds) {
						t.Fatalf("%s: allocated %d, kinds %v; expected %d, %v", name, a, got, sum, kinds)
					}
				}
			}
		}
	})
}
