package daemon

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// A quota holds jobs back and says so, is kept over a restart, and lets them go
// when it is raised.
func TestQuota(t *testing.T) {
	w := serve(t, folder(t), nil)
	w.join("c", nodes("n", 2, "4"))
	if _, err := w.CreateTenant(t.Context(), "red"); err != nil {
		t.Fatal(err)
	}
	set := func(quotas ...client.Quota) (client.Share, error) {
		return w.SetShare(t.Context(), "red", client.ShareSpec{Weight: 2, Quotas: quotas})
	}
	if _, err := set(client.Quota{Resource: "cpu", Limit: "1500m", Guaranteed: "1"}); err != nil {
		t.Fatal(err)
	}
	red := w.As("", "red")
	submit := func(name string) string {
		t.Helper()
		jobs, err := red.Submit(t.Context(), []client.JobSpec{job(name, "1")}, "")
		if err != nil {
			t.Fatal(err)
		}
		return jobs[0].ID
	}
	first, second := submit("first"), submit("second")
	w.until(first, client.Running)
	eventually(t, "the second to be over quota", func() bool { return strings.Contains(w.job(second).Reason, "over quota") })
	why, err := w.Why(t.Context(), second)
	if err != nil || why.Decision == nil || why.Decision.Quota == nil || why.Decision.Quota.Limit != 1500 || why.Decision.Quota.Used != 1000 {
		t.Errorf("%+v, %v, expected 1000 of 1500", why.Decision, err)
	}
	w = w.again(nil)
	share, err := w.Share(t.Context(), "red")
	if err != nil || share.Weight != 2 || len(share.Quotas) != 1 || share.Quotas[0].Limit != "1.5" || len(share.Holds) == 0 || share.Holds[0].Used != "1" || share.Dominant != 0.125 {
		t.Errorf("%+v, %v", share, err)
	}
	for _, bad := range []client.Quota{{Resource: "cpu", Limit: "lots"}, {Resource: "cpu", Limit: "1", Guaranteed: "2"}, {Resource: "", Limit: "1"}, {Resource: "cpu", Limit: "-1"}} {
		if _, err := w.SetShare(t.Context(), "red", client.ShareSpec{Quotas: []client.Quota{bad}}); poise.KindOf(err) != poise.Invalid {
			t.Errorf("%+v: %v, expected it to be invalid", bad, err)
		}
	}
	if _, err := w.SetShare(t.Context(), "red", client.ShareSpec{Parent: "red"}); err == nil {
		t.Error("a tenant is part of itself")
	}
	red = w.As("", "red")
	if _, err := w.SetShare(t.Context(), "red", client.ShareSpec{Quotas: []client.Quota{{Resource: "cpu", Limit: "0.5"}}}); err != nil {
		t.Fatal(err)
	}
	if share, err = w.Share(t.Context(), "red"); err != nil || len(share.Warnings) != 1 {
		t.Errorf("%+v, %v, expected a warning: it holds more than its limit", share, err)
	}
	if _, err := w.SetShare(t.Context(), "red", client.ShareSpec{}); err != nil {
		t.Fatal(err)
	}
	w.until(second, client.Running)
	// The built-in tenant may have a share as well, and stays the only one that is.
	if _, err := w.SetShare(t.Context(), "default", client.ShareSpec{Weight: 3}); err != nil {
		t.Fatal(err)
	}
	list, err := w.Tenants(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("%+v, %v, expected default and red", list, err)
	}
}
