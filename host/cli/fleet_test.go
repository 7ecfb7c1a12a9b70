package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/poise-sched/poise/host/api/client"
)

func TestFleetAdviceOnSnapshot(t *testing.T) {
	name := snapshotFile(t)
	out, errs, code := runPoise("fleet", "advice", "--snapshot", name)
	if code != 0 {
		t.Fatal(errs)
	}
	golden(t, "fleet_advice", out)
	out, _, code = runPoise("fleet", "advice", "--snapshot", name, "-o", "json")
	var a client.Advice
	if err := json.Unmarshal([]byte(out), &a); code != 0 || err != nil || a.Waiting != 1 || a.Helpless[0].Jobs != 1 || a.Unneeded[0].Nodes[0] != "n2" {
		t.Errorf("%d, %v, %+v", code, err, a)
	}
	if out, _, code = runPoise("fleet", "advice", "--snapshot", name, "-o", "yaml"); code != 0 || !strings.Contains(out, "over_quota: 0") {
		t.Errorf("%d, %s", code, out)
	}
	if _, _, code := runPoise("fleet", "advice", "--snapshot", "none"); code != 3 {
		t.Errorf("exit %d for a file that is not there, expected 3", code)
	}
	if _, _, code := runPoise("fleet", "advice", "-o", "xml"); code != 2 {
		t.Errorf("exit %d for an unknown output, expected 2", code)
	}
}
