package queue

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

// model is the queue as a plain list that is looked through from end to end.
type model struct {
	settings Settings
	waiting  []modelJob
	parked   map[ShapeID]modelPark
	sweepAt  poise.Time
	wakes    []modelWake
}

type modelJob struct {
	Item
	delayed bool
	due     poise.Time
}

type modelPark struct {
	blocked Causes
	version uint64
}

type modelWake struct {
	help    Causes
	version uint64
}

func (m *model) less(a, b *Item) bool {
	key := func(i *Item) *big.Int {
		k := new(big.Int).Mul(big.NewInt(int64(i.Priority)), big.NewInt(int64(m.settings.Step)))
		return k.Sub(k, big.NewInt(int64(i.Submitted)))
	}
	if c := key(a).Cmp(key(b)); c != 0 {
		return c > 0
	}
	switch {
	case a.Size.Devices != b.Size.Devices:
		return a.Size.Devices > b.Size.Devices
	case a.Size.CPU != b.Size.CPU:
		return a.Size.CPU > b.Size.CPU
	case a.Size.Memory != b.Size.Memory:
		return a.Size.Memory > b.Size.Memory
	}
	return a.Seq < b.Seq
}

func (m *model) add(j modelJob) {
	m.waiting = append(m.waiting, j)
	slices.SortFunc(m.waiting, func(a, b modelJob) int {
		if m.less(&a.Item, &b.Item) {
			return -1
		}
		return 1
	})
}

func (m *model) remove(id poise.JobID) bool {
	i := slices.IndexFunc(m.waiting, func(j modelJob) bool { return j.Job == id })
	if i < 0 {
		return false
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	for shape := range m.parked {
		if !slices.ContainsFunc(m.waiting, func(j modelJob) bool { return j.Shape == shape && !j.delayed }) {
			delete(m.parked, shape)
		}
	}
	return true
}

func (m *model) pop(now poise.Time) (Item, bool) {
	if len(m.parked) > 0 && now >= m.sweepAt {
		clear(m.parked)
	}
	for i := range m.waiting {
		if now >= m.waiting[i].due {
			m.waiting[i].delayed = false
		}
	}
	for i := range m.waiting {
		j := m.waiting[i]
		if _, parked := m.parked[j.Shape]; !parked && !j.delayed {
			m.remove(j.Job)
			return j.Item, true
		}
	}
	return Item{}, false
}

func (m *model) park(item Item, blocked Causes, version uint64, now poise.Time) {
	m.add(modelJob{Item: item})
	if p, ok := m.parked[item.Shape]; ok && version <= p.version {
		return
	}
	for _, w := range m.wakes {
		if w.help&blocked != 0 && w.version > version {
			delete(m.parked, item.Shape)
			return
		}
	}
	if len(m.parked) == 0 {
		m.sweepAt = now + poise.Time(m.settings.Sweep)
	}
	m.parked[item.Shape] = modelPark{blocked, version}
}

func (m *model) wake(help Causes, version uint64) int {
	m.wakes = append(m.wakes, modelWake{help, version})
	woken := 0
	for shape, p := range m.parked {
		if p.blocked&help != 0 && p.version < version {
			delete(m.parked, shape)
			woken++
		}
	}
	return woken
}

func (m *model) count() (ready, parked, delayed int) {
	for i := range m.waiting {
		_, isParked := m.parked[m.waiting[i].Shape]
		switch {
		case m.waiting[i].delayed:
			delayed++
		case isParked:
			parked++
		default:
			ready++
		}
	}
	return ready, parked, delayed
}

func (m *model) nextWake() (at poise.Time, ok bool) {
	if len(m.parked) > 0 {
		at, ok = m.sweepAt, true
	}
	for i := range m.waiting {
		if j := &m.waiting[i]; j.delayed && (!ok || j.due < at) {
			at, ok = j.due, true
		}
	}
	return at, ok
}

// held is a popped job with the version that its attempt sees.
type held struct {
	item Item
	seen uint64
}

// machine drives a queue and the model with the same calls.
type machine struct {
	q       *Queue
	m       *model
	held    []held
	now     poise.Time
	version uint64
	next    int
	live    map[poise.JobID]bool
}

func newMachine(t *rapid.T) *machine {
	s := Settings{Step: 10, Sweep: second, RetryBase: 5, RetryMax: 300}
	q, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return &machine{q: q, m: &model{settings: s, parked: map[ShapeID]modelPark{}}, live: map[poise.JobID]bool{}}
}

var someCauses = rapid.Map(rapid.IntRange(0, 15), func(n int) Causes { return Causes(n) })

func (c *machine) push(t *rapid.T) {
	c.next++
	shape := ShapeID(rapid.IntRange(0, 5).Draw(t, "shape"))
	item := Item{
		Job: poise.JobID(fmt.Sprint("j", c.next)), Shape: shape,
		Priority:  rapid.Int32Range(-2, 2).Draw(t, "priority"),
		Submitted: c.now - poise.Time(rapid.IntRange(0, 20).Draw(t, "age")),
		Size:      Size{Devices: int64(shape / 3), CPU: int64(shape % 2)},
		Seq:       uint64(c.next),
	}
	if err := c.q.Push(item); err != nil {
		t.Fatal(err)
	}
	c.m.add(modelJob{Item: item})
	c.live[item.Job] = true
}

func (c *machine) pop(t *rapid.T) {
	item, ok := c.q.Pop(c.now)
	want, wantOK := c.m.pop(c.now)
	if item != want || ok != wantOK {
		t.Fatalf("popped %+v %v, expected %+v %v", item, ok, want, wantOK)
	}
	if ok {
		c.held = append(c.held, held{item, c.version})
	}
}

// take gives one of the popped jobs, which the caller then hands back or drops.
func (c *machine) take(t *rapid.T) held {
	if len(c.held) == 0 {
		t.Skip("no job popped")
	}
	i := rapid.IntRange(0, len(c.held)-1).Draw(t, "held")
	h := c.held[i]
	c.held = slices.Delete(c.held, i, i+1)
	return h
}

func (c *machine) place(t *rapid.T) { delete(c.live, c.take(t).item.Job) }

func (c *machine) pushBack(t *rapid.T) {
	h := c.take(t)
	if err := c.q.Push(h.item); err != nil {
		t.Fatal(err)
	}
	c.m.add(modelJob{Item: h.item})
}

func (c *machine) park(t *rapid.T) {
	h, blocked := c.take(t), someCauses.Draw(t, "blocked")
	if err := c.q.Park(h.item, blocked, h.seen, c.now); err != nil {
		t.Fatal(err)
	}
	c.m.park(h.item, blocked, h.seen, c.now)
}

func (c *machine) delay(t *rapid.T) {
	h, attempt := c.take(t), rapid.IntRange(1, 9).Draw(t, "attempt")
	due, err := c.q.Delay(h.item, attempt, 1, c.now)
	if err != nil || due <= c.now || due > c.now+poise.Time(c.m.settings.RetryMax) {
		t.Fatalf("delayed at %d until %d: %v", c.now, due, err)
	}
	c.m.add(modelJob{Item: h.item, delayed: true, due: due})
}

func (c *machine) wake(t *rapid.T) {
	help := someCauses.Draw(t, "help")
	c.version++
	if got, want := c.q.Wake(help, c.version), c.m.wake(help, c.version); got != want {
		t.Fatalf("woke %d groups, expected %d", got, want)
	}
}

func (c *machine) remove(t *rapid.T) {
	id := poise.JobID(fmt.Sprint("j", rapid.IntRange(0, c.next).Draw(t, "job")))
	got, want := c.q.Remove(id), c.m.remove(id)
	if got != want {
		t.Fatalf("removed %s: %v, expected %v", id, got, want)
	}
	if got {
		delete(c.live, id)
	}
}

func (c *machine) passTime(t *rapid.T) {
	c.now += poise.Time(rapid.IntRange(0, 400).Draw(t, "ms"))
}

func (c *machine) check(t *rapid.T) {
	ready, parked, delayed := c.m.count()
	if c.q.Ready() != ready || c.q.Parked() != parked || c.q.Delayed() != delayed || c.q.Len() != len(c.m.waiting) {
		t.Fatalf("ready %d, parked %d, delayed %d of %d, expected %d, %d, %d",
			c.q.Ready(), c.q.Parked(), c.q.Delayed(), c.q.Len(), ready, parked, delayed)
	}
	i := 0
	for item := range c.q.All() {
		if item != c.m.waiting[i].Item {
			t.Fatalf("listed %+v at %d, expected %+v", item, i, c.m.waiting[i].Item)
		}
		i++
	}
	at, ok := c.q.NextWake()
	if want, wantOK := c.m.nextWake(); at != want || ok != wantOK {
		t.Fatalf("next wake at %d %v, expected %d %v", at, ok, want, wantOK)
	}
	if len(c.live) != len(c.m.waiting)+len(c.held) {
		t.Fatalf("%d jobs live, %d wait and %d are popped", len(c.live), len(c.m.waiting), len(c.held))
	}
}

// finish pops every job that is left: none was lost, none comes twice.
func (c *machine) finish(t *rapid.T) {
	for len(c.held) > 0 {
		c.park(t)
	}
	c.now += 2 * second
	for c.q.Len() > 0 {
		c.pop(t)
	}
	for _, h := range c.held {
		if !c.live[h.item.Job] {
			t.Fatalf("popped %s, which is not there or came before", h.item.Job)
		}
		delete(c.live, h.item.Job)
	}
	if len(c.live) != 0 || len(c.q.groups) != 0 || len(c.q.parked) != 0 || len(c.q.ready) != 0 {
		t.Fatalf("left over: jobs %v, %d groups, %d parked, %d ready", c.live, len(c.q.groups), len(c.q.parked), len(c.q.ready))
	}
}

// Any sequence of calls gives what the plain list gives.
func TestQueueIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"push": c.push, "push2": c.push, "pop": c.pop, "pop2": c.pop,
			"place": c.place, "push back": c.pushBack, "park": c.park, "park2": c.park,
			"delay": c.delay, "wake": c.wake, "remove": c.remove, "time": c.passTime,
			"": c.check,
		})
		c.finish(t)
	})
}
