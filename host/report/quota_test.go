package report

import (
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

func TestQuotaText(t *testing.T) {
	f := func(q *poise.QuotaMiss, want string) {
		t.Helper()
		if got := quotaText(q); got != want {
			t.Errorf("%s\nexpected\n%s", got, want)
		}
	}
	f(nil, "a tenant would hold more than it may")
	f(&poise.QuotaMiss{Tenant: "acme", Resource: "cpu", Used: 3000, Ask: 2000, Limit: 4000}, "tenant acme holds 3 of its limit of 4 of cpu, and it asks for 2 more: 1 too much")
	f(&poise.QuotaMiss{Tenant: "acme", Resource: "cpu", Used: 3000, Ask: 2000, Limit: 4000, Withheld: 1000}, "1 of cpu is kept for the guarantees of others, so all together may hold 4; it asks for 2 more")
	f(&poise.QuotaMiss{Resource: "cpu", Ask: 2000}, "what tenants above it hold, or others have kept for them, leaves too little cpu; it asks for 2 more")
}
