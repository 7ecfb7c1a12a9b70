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

// Shares and signing over the command line, as they are set and shown.
func TestTenantShareCommands(t *testing.T) {
	d, _ := guarded(t)
	d.run(0, "tenant", "create", "acme")
	d.prints("tenant          acme\nweight          2.5\ndominant share  0\n\nRESOURCE  HOLDS  GUARANTEED  RESERVED  LIMIT  FLEET\ncpu       0      64          -         128    0\n", 0,
		"tenant", "quota", "acme", "--weight", "2.5", "--set", "cpu=guaranteed:64,limit:128")
	d.prints("tenant          acme\nweight          2.5\ndominant share  0\n", 0, "tenant", "quota", "acme", "--unset", "cpu")
	_, errs := d.run(1, "tenant", "quota", "acme", "--set", "cpu=limit:1,guaranteed:2")
	if !strings.Contains(errs, "quota: cpu: limit: 1000, expected 2000 to") {
		t.Errorf("limit below guaranteed: %s", errs)
	}
	d.run(2, "tenant", "quota", "acme", "--set", "cpu")
	d.run(3, "tenant", "quota", "nobody")
	key := put(t, "key.pub", "untrusted comment: minisign public key\nRWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n")
	d.prints("signature required  yes\nkey                 RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n", 0, "tenant", "signing", "acme", "--require", "--key", key)
	d.prints("signature required  no\nkey                 RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n", 0, "tenant", "signing", "acme", "--require=false")
}
