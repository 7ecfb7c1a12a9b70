package state

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/poise-sched/poise/host/poise"
	"pgregory.net/rapid"
)

func newDemand(halfLife float64) *demand {
	return &demand{halfLife: halfLife, index: map[string]int{}}
}

// deviceRequest asks for devices beside an amount of cpu that tells it from
// others.
func deviceRequest(cpu int, count, milli int32) *poise.Request {
	return &poise.Request{Amounts: amounts("cpu", cpu), Device: poise.DeviceRequest{Kind: "gpu", Count: count, Milli: milli}}
}

// times gives the count of the kind with this much cpu, 0 where there is none.
func (d *demand) times(cpu int) float64 {
	for _, s := range d.counts() {
		if s.CPU == int64(cpu) {
			return s.Times
		}
	}
	return 0
}

func TestDemandRoundsMemoryUpToMiB(t *testing.T) {
	f := func(memory int, want int64) {
		t.Helper()
		d := newDemand(0)
		d.arrive(&poise.Request{Amounts: amounts("memory", memory), Device: poise.DeviceRequest{Kind: "gpu", Count: 1, Milli: 1}})
		if got := d.counts()[0].Memory; got != want {
			t.Errorf("%d bytes are %d MiB, expected %d", memory, got, want)
		}
	}
	f(0, 0)
	f(1, 1)
	f(1<<20, 1)
	f(1<<20+1, 2)
	f(math.MaxInt64, 1<<43)
}

// A count halves with every half-life of arrivals, of whatever jobs; without
// one it is the exact number.
func TestDemandHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		halfLife := rapid.IntRange(1, 300).Draw(t, "half-life")
		seen := rapid.IntRange(1, 50).Draw(t, "seen")
		decaying, exact := newDemand(float64(halfLife)), newDemand(0)
		for range seen {
			decaying.arrive(deviceRequest(1, 1, 500))
			exact.arrive(deviceRequest(1, 1, 500))
		}
		start := decaying.times(1)
		for halved := 1.0; halved <= 8; halved++ {
			for range halfLife {
				other := &poise.Request{}
				if rapid.Bool().Draw(t, "with device") {
					other = deviceRequest(2, 1, 500)
				}
				decaying.arrive(other)
				exact.arrive(other)
			}
			if got, want := decaying.times(1), start/math.Exp2(halved); math.Abs(got-want) > 1e-12*want {
				t.Fatalf("%v after %v half-lives, expected %v", got, halved, want)
			}
		}
		if got := exact.times(1); got != float64(seen) {
			t.Fatalf("%v without a half-life, expected %d", got, seen)
		}
	})
}

// Requests made up to differ take bounded memory and do not push out what
// really comes often.
func TestDemandIsBounded(t *testing.T) {
	f := func(halfLife float64) {
		t.Helper()
		a, b := newDemand(halfLife), newDemand(halfLife)
		const usual, floods = 100, 100_000
		for i := range floods {
			for _, d := range []*demand{a, b} {
				d.arrive(deviceRequest(usual+i, 1, 1000))
				d.arrive(deviceRequest(i%usual, 1, 1))
			}
			if len(a.seen) > maxSeen || len(a.index) != len(a.seen) {
				t.Fatalf("%d kinds counted, %d found, expected at most %d", len(a.seen), len(a.index), maxSeen)
			}
		}
		if got, want := a.times(7), float64(floods/usual); halfLife == 0 && got != want {
			t.Errorf("a usual kind was seen %v times, expected %v", got, want)
		}
		for cpu := range usual {
			if a.times(cpu) < 1 {
				t.Errorf("usual kind %d was seen %v times", cpu, a.times(cpu))
			}
		}
		if a.arrivals != 2*floods {
			t.Errorf("%d arrivals, expected %d", a.arrivals, 2*floods)
		}
		if !reflect.DeepEqual(a.counts(), b.counts()) {
			t.Error("the same arrivals give other counts")
		}
	}
	f(0)
	f(10_000)
}

func TestDemandForgetsTheLighterHalf(t *testing.T) {
	d := newDemand(0)
	// Weights by falling order of arrival: 2 * 1.001 for the first quarter, 1
	// * 2 for the second, 1 * 1.001 for the others.
	for cpu := range maxSeen / 4 {
		d.arrive(deviceRequest(cpu, 1, 1))
		d.arrive(deviceRequest(cpu, 1, 1))
	}
	for cpu := maxSeen / 4; cpu < maxSeen/2; cpu++ {
		d.arrive(deviceRequest(cpu, 1, 1000))
	}
	for cpu := maxSeen / 2; cpu < maxSeen; cpu++ {
		d.arrive(deviceRequest(cpu, 1, 1))
	}
	if len(d.seen) != maxSeen {
		t.Fatalf("%d kinds, expected %d", len(d.seen), maxSeen)
	}
	d.arrive(deviceRequest(maxSeen, 1, 1))
	got := d.counts()
	if len(got) != maxSeen/2+1 || len(d.index) != len(got) {
		t.Fatalf("%d kinds left, expected %d", len(got), maxSeen/2+1)
	}
	for i, s := range got[:maxSeen/2] {
		want := 1.0
		if i < maxSeen/4 {
			want = 2
		}
		if s.CPU != int64(i) || s.Times != want {
			t.Fatalf("kind %d has cpu %d, seen %v times, expected %d and %v: in order of first arrival", i, s.CPU, s.Times, i, want)
		}
	}
	if last := got[maxSeen/2]; last.CPU != maxSeen || last.Times != 1 {
		t.Errorf("the newest kind is %+v", last)
	}
	d.arrive(deviceRequest(5, 1, 1))
	d.arrive(deviceRequest(maxSeen-1, 1, 1))
	if d.times(5) != 3 || d.times(maxSeen-1) != 1 {
		t.Errorf("seen %v and %v times, expected a kept kind 3 times and a forgotten one once", d.times(5), d.times(maxSeen-1))
	}
}

// Of equal kinds those that were seen last stay.
func TestDemandForgetsWhatWasSeenLongAgo(t *testing.T) {
	d := newDemand(0)
	for cpu := range maxSeen {
		d.arrive(deviceRequest(cpu, 1, 1))
	}
	d.arrive(deviceRequest(maxSeen, 1, 1))
	first, last := d.counts()[0].CPU, d.counts()[maxSeen/2].CPU
	if first != maxSeen/2 || last != maxSeen {
		t.Errorf("kinds %d to %d are left, expected %d to %d", first, last, maxSeen/2, maxSeen)
	}
}

// What Demand gives is the caller's: later arrivals do not change it.
func TestDemandIsACopy(t *testing.T) {
	d := newDriver(t, 0)
	d.do(t, submitted("a", *deviceRequest(1, 1, 500)))
	seen := d.Demand()
	text := fmt.Sprint(seen)
	d.do(t, submitted("b", *deviceRequest(1, 1, 500)), submitted("c", *deviceRequest(2, 1, 500)))
	if fmt.Sprint(seen) != text {
		t.Errorf("%v became %v", text, seen)
	}
	if now := d.Demand(); len(now) != 2 || now[0].Times != 2 {
		t.Errorf("two kinds, the first seen twice, came out as %v", now)
	}
}
