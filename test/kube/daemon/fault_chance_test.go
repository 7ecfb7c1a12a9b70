package daemon

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "of the faults drawn by chance; 0 draws another one for each test")

// chance draws the faults of requests by a seed: each by its place among those of
// its right and path, whatever comes between them.
type chance struct {
	seed uint64
}

// newChance prints its seed where the test fails.
func newChance(t *testing.T) *chance {
	c := &chance{seed: *seedFlag}
	if c.seed == 0 {
		c.seed = rand.Uint64()
	}
	t.Logf("the faults are those of -seed %d", c.seed)
	return c
}

func (c *chance) of(call call) *rand.Rand {
	h := fnv.New64a()
	_, _ = io.WriteString(h, call.right+" "+call.path)
	return rand.New(rand.NewPCG(c.seed, h.Sum64()+uint64(call.nth)))
}

// plan has half of all writes go wrong, and watches end after a second or two,
// every other one with its version too old.
func (c *chance) plan(call call) fault {
	r := c.of(call)
	within := func(least, most int) time.Duration { return time.Duration(least+r.IntN(most-least)) * time.Millisecond }
	switch {
	case strings.HasPrefix(call.right, "watch "):
		if call.nth%8 == 7 {
			return fault{code: http.StatusGone}
		}
		return fault{cut: within(1000, 4000)}
	case strings.HasPrefix(call.right, "list "):
		if r.IntN(6) == 0 {
			return fault{code: http.StatusInternalServerError}
		}
	case call.right == "get pods":
		if r.IntN(3) == 0 {
			return fault{lose: true}
		}
	case strings.HasPrefix(call.right, "create pods") || strings.HasPrefix(call.right, "patch pods"):
		switch r.IntN(12) {
		case 0, 1:
			return fault{before: within(100, 2000)}
		case 2:
			return fault{drop: true}
		case 3:
			return fault{before: within(100, 1000), drop: true}
		case 4:
			return fault{lose: true}
		case 5:
			return fault{code: http.StatusInternalServerError}
		case 6:
			return fault{code: http.StatusTooManyRequests}
		case 7:
			return fault{code: http.StatusGatewayTimeout}
		}
	}
	return fault{}
}

// Half of all writes fail, come late or lose their answer, watches end and their
// versions are too old, and the daemon is killed again and again: every pod is bound
// once, and every job runs once.
func TestFaultsByChance(t *testing.T) {
	t.Parallel()
	c := newChance(t)
	x := newFaulty(t, "n1", "n2", "n3")
	x.by(c.plan)
	random := rand.New(rand.NewPCG(c.seed, 1))
	const each = 30
	for i := range each {
		x.create("default", fmt.Sprint("pod", i), "500m", runFor(time.Duration(500+random.IntN(2000))*time.Millisecond))
		x.p.submit(fmt.Sprint("job", i), "500m", fmt.Sprint("run-for=", 500+random.IntN(2000), "ms"))
		if i%10 == 9 {
			x.restart()
		}
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
	}
	x.p.ended("default/pod", each)
	x.p.ended("job", each)
	settled(t, x.p, x.audit)
	for _, kind := range []string{"late", "refused", "lost", "dropped", "cut"} {
		if x.faults(kind) == 0 {
			t.Errorf("nothing was %s", kind)
		}
	}
}
