package cli

import (
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

func TestQuotaFlag(t *testing.T) {
	f := func(text string, want client.Quota, says string) {
		t.Helper()
		got, err := parseQuotaFlag(text)
		if says == "" && (err != nil || got != want) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %+v, %v, expected %+v %q", text, got, err, want, says)
		}
	}
	f("cpu=limit:8", client.Quota{Resource: "cpu", Limit: "8"}, "")
	f("memory=guaranteed:1Ti,reserved:100Gi,limit:2Ti", client.Quota{Resource: "memory", Guaranteed: "1Ti", Reserved: "100Gi", Limit: "2Ti"}, "")
	f("cpu", client.Quota{}, "expected RESOURCE=")
	f("=limit:1", client.Quota{}, "expected RESOURCE=")
	f("cpu=", client.Quota{}, "expected RESOURCE=")
	f("cpu=most:1", client.Quota{}, `"most:1", expected guaranteed`)
	f("cpu=limit:", client.Quota{}, `"limit:"`)
	f("cpu=limit:1,limit:2", client.Quota{}, "each once")
}
