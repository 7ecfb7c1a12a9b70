package state

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/poise-sched/poise/host/poise"
)

// past is what tenants have held, in amounts times milliseconds, which count half
// after a half-life: at each time k*half, in the time of the events, every sum is
// halved and rounded down. So it is exact, and the same however often it is
// looked at. A tenant that is another's parent has a history of its own for what
// those under it held.
type past struct {
	half      poise.Span // 0 = nothing is kept
	now       poise.Time // of the event that is applied
	histories map[shareOf]*history
}

// history is what one tenant held until a time.
type history struct {
	until poise.Time
	sums  map[string]*sum
}

// maxUsageHalfLife keeps the sums within 128 bits: an amount of 63 bits times ten
// years takes 102.
const maxUsageHalfLife = poise.Span(10 * 365 * 24 * 3_600_000)

func checkUsageHalfLife(op string, h poise.Span) error {
	if h < 0 || h > maxUsageHalfLife {
		return &poise.Error{
			Kind: poise.Invalid, Op: op,
			Detail: fmt.Sprintf("usage half-life: %d ms, expected 0 to %d", h, maxUsageHalfLife),
		}
	}
	return nil
}

// PastShare gives what a tenant held, decayed, as a dominant share: the largest
// part of any resource that the fleet has now, where 1 is all of it held for one
// half-life. own leaves out the tenants under it. A tenant that holds the part s
// all the time has between s and 2s. It is 0 where no half-life is set.
//
// That past use lowers what is given now, and decays, is the classic fair share
// of Slurm's multifactor priority (PriorityDecayHalfLife); that the resource
// counts of which a tenant holds most is DRF (Ghodsi et al., NSDI 2011).
func (s *State) PastShare(tenant poise.TenantID, own bool) float64 {
	p := &s.usage.past
	if p.half == 0 {
		return 0
	}
	of := shareOf{tenant: tenant, own: own}
	h := p.histories[of]
	if h == nil {
		return 0
	}
	held, most := s.usage.held(of), 0.0
	part := func(name string, v sum) {
		if t := s.usage.total[name]; t != nil && t.float() > 0 {
			most = max(most, v.float()/(t.float()*float64(p.half)))
		}
	}
	for name, v := range h.sums {
		part(name, p.grown(*v, held[name], h.until, s.live.at))
	}
	for name, v := range held {
		if h.sums[name] == nil {
			part(name, p.grown(sum{}, v, h.until, s.live.at))
		}
	}
	return most
}

// held gives what a tenant holds now.
func (u *usage) held(of shareOf) map[string]*sum {
	if of.own {
		return u.own[of.tenant]
	}
	return u.tenants[of.tenant]
}

// accrue brings a tenant's history up to now, before what it holds changes.
func (u *usage) accrue(of shareOf) {
	p := &u.past
	if p.half == 0 {
		return
	}
	h := p.histories[of]
	if h == nil {
		p.histories[of] = &history{until: p.now, sums: map[string]*sum{}}
		return
	}
	held := u.held(of)
	for name, v := range h.sums {
		if *v = p.grown(*v, held[name], h.until, p.now); *v == (sum{}) {
			delete(h.sums, name)
		}
	}
	for name, amount := range held {
		if h.sums[name] == nil {
			if v := p.grown(sum{}, amount, h.until, p.now); v != (sum{}) {
				h.sums[name] = &v
			}
		}
	}
	h.until = max(h.until, p.now)
}

// steady is after how many half-lives of holding the same a sum of 128 bits
// changes no more.
const steady = 130

// grown gives what a sum is after holding an amount for a time.
func (p *past) grown(v sum, held *sum, from, to poise.Time) sum {
	amount, half := held.amount(), poise.Time(p.half)
	if to <= from {
		return v
	}
	// Of the times k*half, those after from and up to to.
	periods := floorDiv(int64(to), int64(half)) - floorDiv(int64(from), int64(half))
	for range min(periods, steady) {
		next := poise.Time(floorDiv(int64(from), int64(half))+1) * half
		v.addProduct(amount, int64(next-from))
		v.halve()
		from = next
	}
	if periods > steady {
		from = poise.Time(floorDiv(int64(to), int64(half))) * half
	}
	v.addProduct(amount, int64(to-from))
	return v
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// addProduct adds a product of numbers that are 0 or more.
func (s *sum) addProduct(a, b int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi += int64(hi + carry)
}

// halve rounds down.
func (s *sum) halve() {
	s.lo = s.lo>>1 | uint64(s.hi)<<63
	s.hi >>= 1
}

// setHalfLife begins, ends or goes on with histories under another half-life.
func (u *usage) setHalfLife(half poise.Span) {
	p := &u.past
	if half == p.half {
		return
	}
	for of := range p.histories {
		u.accrue(of)
	}
	began := p.half == 0
	if p.half = half; half == 0 {
		p.histories = nil
		return
	}
	if !began {
		return
	}
	p.histories = map[shareOf]*history{}
	for id := range u.own {
		u.accrue(shareOf{id, true})
	}
	for id := range u.tenants {
		u.accrue(shareOf{id, false})
	}
}

// forgetPast drops what a tenant held: it counts for those above it no more.
func (s *State) forgetPast(tenant poise.TenantID) {
	delete(s.usage.past.histories, shareOf{tenant, true})
	s.regroup()
}

// regroup adds up anew what the tenants under each held, after tenants may have
// got another parent. What they hold must not have been counted anew yet.
func (s *State) regroup() {
	u := &s.usage
	if u.past.half == 0 {
		return
	}
	for of := range u.past.histories {
		if of.own {
			u.accrue(of)
		} else {
			delete(u.past.histories, of)
		}
	}
	for of, h := range u.past.histories {
		if !of.own {
			continue
		}
		for id := of.tenant; ; {
			u.accrue(shareOf{tenant: id})
			for name, v := range h.sums {
				into := u.past.histories[shareOf{tenant: id}].sums
				if into[name] == nil {
					into[name] = &sum{}
				}
				into[name].addSum(v)
			}
			known := s.policies.tenants[id]
			if known == nil || known.Parent == "" {
				break
			}
			id = known.Parent
		}
	}
}

func (s *sum) addSum(v *sum) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, v.lo, 0)
	s.hi += v.hi + int64(carry)
}

// PastImage is what one tenant held until a time.
type PastImage struct {
	Tenant poise.TenantID
	Own    bool // without the tenants under it
	Until  poise.Time
	Sums   []PastSum // by resource
}

// PastSum is Hi * 2^64 + Lo, in base units times milliseconds.
type PastSum struct {
	Resource string
	Hi       int64
	Lo       uint64
}

func (p *past) image() []PastImage {
	var images []PastImage
	for of, h := range p.histories {
		im := PastImage{Tenant: of.tenant, Own: of.own, Until: h.until}
		for name, v := range h.sums {
			im.Sums = append(im.Sums, PastSum{name, v.hi, v.lo})
		}
		slices.SortFunc(im.Sums, func(a, b PastSum) int { return cmp.Compare(a.Resource, b.Resource) })
		images = append(images, im)
	}
	slices.SortFunc(images, func(a, b PastImage) int {
		if a.Tenant == b.Tenant && a.Own {
			return -1
		}
		return cmp.Compare(a.Tenant, b.Tenant)
	})
	return images
}

// place takes over the half-life and the histories of an image.
func (p *past) place(half poise.Span, images []PastImage) error {
	if p.half = half; half == 0 {
		if len(images) > 0 {
			return broken("past: histories of %d tenants, expected none without a half-life", len(images))
		}
		return nil
	}
	p.histories = map[shareOf]*history{}
	for _, im := range images {
		h := &history{until: im.Until, sums: map[string]*sum{}}
		for _, v := range im.Sums {
			if v.Hi < 0 {
				return broken("past of tenant %q: %s: below 0, expected 0 or more", im.Tenant, v.Resource)
			}
			h.sums[v.Resource] = &sum{v.Hi, v.Lo}
		}
		p.histories[shareOf{im.Tenant, im.Own}] = h
	}
	return nil
}
