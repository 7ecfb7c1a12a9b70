package daemon

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Who asks for more than any node has is told so when it submits, and waits for a
// node that could hold the job, unless its tenant wants such jobs refused (B37).
func TestUnfit(t *testing.T) {
	w := serve(t, folder(t), settings{"engine.sim_scale": "1000"})
	w.join("c", nodes("n", 2, "72"))
	const want = "never fits the present nodes: node too small (cpu); the nearest, node n0, has 72 of 73 cpu"
	big := w.submit(job("big", "73"))[0]
	if got := big.Reason + big.Detail; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	if ok := w.submit(job("fits", "72"))[0]; ok.Reason+ok.Detail != "" {
		t.Errorf("%q, expected nothing said of a job that a node can hold", ok.Reason+ok.Detail)
	}
	w.join("d", nodes("large", 1, "80"))
	w.until(big.ID, client.Succeeded)

	if _, err := w.CreateTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CreateTenant(t.Context(), "vision"); err != nil {
		t.Fatal(err)
	}
	for id, spec := range map[string]client.ShareSpec{"acme": {RefuseUnfit: true}, "vision": {Parent: "acme"}} {
		if _, err := w.SetShare(t.Context(), id, spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"acme", "vision"} { // the one above speaks for those under it
		_, err := w.As("", id).Submit(t.Context(), []client.JobSpec{job("small", "1"), job("big", "81")}, "")
		if poise.KindOf(err) != poise.Denied || !strings.Contains(err.Error(), "never fits the present nodes") {
			t.Errorf("%s: %v, expected a refusal", id, err)
		}
		gang := gangOf("gang", 7, 7, nil, job("gang", "36")) // six of it fit
		if _, err := w.As("", id).Submit(t.Context(), gang, ""); poise.KindOf(err) != poise.Denied || !strings.Contains(err.Error(), "cannot hold the 7 tasks") {
			t.Errorf("%s: %v, expected a gang to be refused", id, err)
		}
		if jobs, err := w.As("", id).Jobs(t.Context(), client.JobFilter{Limit: 10}); err != nil || len(jobs.Jobs) > 0 {
			t.Errorf("%s: %v %v, expected no job of a submission that is refused", id, jobs.Jobs, err)
		}
	}
}
