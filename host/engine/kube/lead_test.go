package kube

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// bubble runs a test in virtual time on a server.
func bubble(t *testing.T, f func(s *homeServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newHomeServer(t))
		time.Sleep(2 * time.Hour) // what is on its way arrives
	})
}

// down is a fault of every request.
func down(*http.Request) fault { return fault{lost: true} }

func TestOneLeads(t *testing.T) {
	bubble(t, func(s *homeServer) {
		var la, lb line
		a, b := s.leader(&la, "a"), s.home(&lb, "b")
		s.fine(a.Leading())
		if poise.KindOf(b.Leading()) != poise.Unavailable || a.Term() != 1 || a.Leader() != "a" {
			s.Errorf("%v, term %d, leader %q", b.Leading(), a.Term(), a.Leader())
		}
		lead, err := a.Lead(s.Context())
		if poise.KindOf(err) != poise.Conflict {
			s.Errorf("a second lead of one process: %v, %v", lead, err)
		}
		took := make(chan time.Duration)
		start := time.Now()
		go func() {
			_, err := b.Lead(s.Context())
			s.fine(err)
			took <- time.Since(start)
		}()
		time.Sleep(time.Hour)
		s.fine(a.Leading())
		if b.Leader() != "a" {
			s.Errorf("leader %q", b.Leader())
		}
		start = time.Now()
		s.end(a)
		if d := <-took; d > 2*time.Second || b.Term() != 2 || a.Leading() == nil {
			s.Errorf("after %v in term %d; the first one: %v", d, b.Term(), a.Leading())
		}
		s.end(a, b)
	})
}

// One that cannot renew stops after 2/3 of the lease, and another one leads when all of
// it is over: for a while nobody does.
func TestLeadIsLost(t *testing.T) {
	f := func(what string, cut func(s *homeServer, l *line), stops, follows time.Duration, because string) {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(s *homeServer) {
				var la, lb line
				a, b := s.home(&la, "a"), s.home(&lb, "b")
				lead, err := a.Lead(s.Context())
				s.fine(err)
				time.Sleep(2 * time.Second)
				synctest.Wait() // it has just renewed
				start := time.Now()
				cut(s, &la)
				next := make(chan time.Duration)
				go func() {
					_, err := b.Lead(s.Context())
					s.fine(err)
					next <- time.Since(start)
				}()
				<-lead.Done()
				if d := time.Since(start); d > stops || !strings.Contains(context.Cause(lead).Error(), because) || a.Leading() == nil {
					s.Errorf("it stopped after %v: %v, %v", d, context.Cause(lead), a.Leading())
				}
				if d := <-next; d > follows {
					s.Errorf("another one led after %v", d)
				}
				s.end(a, b)
			})
		})
	}
	lease := "/apis/coordination.k8s.io/v1/namespaces/home/leases/poise"
	f("no answer", func(_ *homeServer, l *line) { l.set(down) }, 10*time.Second, 17*time.Second, "not renewed for 10s: renew the lease")
	f("no end of an answer", func(_ *homeServer, l *line) {
		l.set(func(*http.Request) fault { return fault{after: time.Hour} })
	}, 10*time.Second, 23*time.Second, "not renewed for 10s")
	f("a late answer, then none", func(_ *homeServer, l *line) {
		late := true
		l.set(func(*http.Request) fault {
			defer func() { late = false }()
			return fault{after: 4 * time.Second, lost: !late}
		})
	}, 12*time.Second, 23*time.Second, "not renewed for 10s")
	f("deleted", func(s *homeServer, _ *line) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.objects, lease)
	}, 2*time.Second, 2*time.Second, "")
	f("taken by hand", func(s *homeServer, _ *line) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.put(lease, s.objects[lease], merged(s.objects[lease], map[string]any{"spec": map[string]any{"leaseTransitions": 7}}).(map[string]any))
	}, 2*time.Second, 21*time.Second, "leads in term 7")
}

// A machine that was suspended knows it before anything else happens.
func TestSuspendedMachine(t *testing.T) {
	bubble(t, func(s *homeServer) {
		var l line
		var asleep time.Duration
		start := time.Now()
		a := s.leader(&l, "a", func(o *HomeOptions) {
			o.clock = func() time.Duration { return time.Since(start) + asleep }
		})
		s.fine(a.Leading())
		s.requests()
		asleep = time.Minute
		err := a.Put(s.Context(), Record{Kind: TenantRecord, Name: "red", Body: []byte("{}")})
		if poise.KindOf(err) != poise.Unavailable || len(s.requests()) > 0 {
			s.Errorf("%v", err)
		}
		time.Sleep(3 * time.Second)
		if err := a.Leading(); err == nil || len(s.requests()) > 0 {
			s.Errorf("it leads again: %v", err)
		}
		s.end(a)
	})
}

// Two processes of one name are two.
func TestOneName(t *testing.T) {
	bubble(t, func(s *homeServer) {
		var la, lb line
		a, b := s.leader(&la, "same"), s.home(&lb, "same")
		ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
		defer cancel()
		if _, err := b.Lead(ctx); err == nil {
			s.Error("both lead")
		}
		s.fine(a.Leading())
		s.end(a)
	})
}

func TestSinceBoot(t *testing.T) {
	was := sinceBoot()
	time.Sleep(10 * time.Millisecond)
	if d := sinceBoot() - was; d < 10*time.Millisecond || d > 10*time.Second {
		t.Errorf("10 ms took %v", d)
	}
}

// chance is what a replica has to do with.
type chance struct {
	rate   float64       // of its clock
	wall   time.Duration // that its wall clock is off
	faulty int           // of ten requests
	delay  int           // seconds, at the most
}

// Whatever becomes of requests and answers, whatever the wall clocks say, and though the
// other clocks are a tenth off: no two replicas may write at one time, each lead has a
// larger term than those before, and once all is well one leads.
func TestNeverTwoLead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chances := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) chance {
			return chance{
				rate:   rapid.Float64Range(0.9, 1.1).Draw(rt, "rate"),
				wall:   time.Duration(rapid.IntRange(-300, 300).Draw(rt, "skew")) * time.Second,
				faulty: rapid.IntRange(0, 9).Draw(rt, "faulty"),
				delay:  rapid.IntRange(1, 20).Draw(rt, "delay"),
			}
		}), 2, 4).Draw(rt, "replicas")
		seed := rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			p := &parliament{homeServer: newHomeServer(t), random: rand.New(rand.NewPCG(seed, 0)), trouble: true, terms: map[int64]*Home{}}
			for _, c := range chances {
				p.seats = append(p.seats, p.sit(c))
			}
			for range 600 {
				p.look(chances, 10)
			}
			p.mu.Lock()
			p.trouble = false
			p.mu.Unlock()
			leaders := 0
			for range 200 {
				leaders = p.look(chances, 1)
			}
			if leaders != 1 {
				t.Errorf("%d lead once all is well", leaders)
			}
			for _, s := range p.seats {
				s.leave()
				p.end(s.Home)
			}
			time.Sleep(time.Minute) // what is on its way arrives
			if t.Failed() {
				t.Logf("replicas %+v, seed %d", chances, seed)
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// parliament is replicas that all want to lead.
type parliament struct {
	*homeServer
	seats []seat
	terms map[int64]*Home
	last  int64

	mu      sync.Mutex
	random  *rand.Rand
	trouble bool
}

type seat struct {
	*Home
	leave context.CancelFunc
}

func (p *parliament) chance(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

// sit has a new process of a replica try to lead.
func (p *parliament) sit(c chance) seat {
	began := time.Now()
	var out time.Time // until when nothing arrives
	l := &line{fault: func(*http.Request) fault {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.trouble || p.random.IntN(10) >= c.faulty && time.Now().After(out) {
			return fault{}
		}
		if p.random.IntN(20) == 0 {
			out = time.Now().Add(time.Duration(p.random.IntN(40)) * time.Second)
		}
		delay := func() time.Duration { return time.Duration(p.random.IntN(1000*c.delay)) * time.Millisecond }
		return fault{before: delay(), after: delay(), lost: p.random.IntN(4) == 0 || time.Now().Before(out), mute: p.random.IntN(3) == 0}
	}}
	h := p.home(l, "replica", func(o *HomeOptions) { // of one name, which must not matter
		o.clock = func() time.Duration { return time.Duration(float64(time.Since(began)) * c.rate) }
		o.wall = func() time.Time { return time.Now().Add(c.wall - time.Duration(p.chance(600))*time.Second) }
	})
	ctx, leave := context.WithCancel(p.Context())
	go func() { _, _ = h.Lead(ctx) }()
	return seat{h, leave}
}

// look sees who leads a while later. One whose lead is over starts anew, sooner or later.
func (p *parliament) look(chances []chance, later int) (leaders int) {
	time.Sleep(250 * time.Millisecond)
	synctest.Wait()
	for i, s := range p.seats {
		term := s.Term()
		if s.Leading() == nil {
			leaders++
			if had := p.terms[term]; term < p.last || had != nil && had != s.Home {
				p.Errorf("term %d is of two leads, or comes after %d", term, p.last)
			}
			p.last, p.terms[term] = term, s.Home
		} else if term != 0 && p.chance(later) == 0 {
			s.leave()
			p.seats[i] = p.sit(chances[i])
		}
	}
	if leaders > 1 {
		p.Errorf("%d lead", leaders)
	}
	return leaders
}
