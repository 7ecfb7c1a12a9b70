package daemon

import (
	"slices"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Who operates the daemon is told which nodes would help; a tenant is refused, as
// it would learn what others wait for.
func TestAdvice(t *testing.T) {
	v := settle(t)
	v.submit(job("big", "7", "sleep", "60"), job("bigger", "7", "sleep", "60"), job("more", "7", "sleep", "60"), job("giant", "99", "true"))
	a, err := v.Advice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	giant := slices.IndexFunc(a.Helpless, func(h client.HelplessJobs) bool { return h.Name == "giant" && h.Nearest != nil })
	if a.Waiting < 2 || len(a.Classes) == 0 || len(a.Together) == 0 || giant < 0 {
		t.Errorf("%+v, expected advice on the jobs that wait", a)
	}
	_, err = v.victim.Advice(t.Context())
	refused(t, err, poise.Denied, "")
}
