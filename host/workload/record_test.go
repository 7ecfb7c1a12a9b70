package workload

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poise-sched/poise/host/poise"
)

// What is written reads back.
func TestRecordProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Record
		for i, f := range fields {
			low := int64(-1)
			if i < 2 {
				low = f.low
			}
			v := rapid.Int64Range(low, maxValue).Draw(t, f.name)
			if v == 0 && f.low > 0 {
				v = f.low
			}
			*f.at(&r) = v
		}
		got, fault := ParseRecord(strings.TrimSuffix(string(r.Append(nil)), "\n"))
		if fault != nil || got != r {
			t.Fatalf("%+v and %+v, want %+v", got, fault, r)
		}
	})
}

const plain = "7 60 5 120 4 -1 2048 4 600 -1 1 12 3 -1 1 -1 -1 -1"

func TestParseRecord(t *testing.T) {
	f := func(line string, want Fault) {
		t.Helper()
		_, fault := ParseRecord(line)
		switch {
		case want == (Fault{}) && fault != nil:
			t.Errorf("%q: %+v", line, *fault)
		case want != (Fault{}) && (fault == nil || *fault != want):
			t.Errorf("%q: %+v, want %+v", line, fault, want)
		}
	}
	f(plain, Fault{})
	f(strings.Replace(plain, "120", "120.75", 1), Fault{})
	f(strings.Replace(plain, "120", "-1.0", 1), Fault{})
	f("  "+strings.ReplaceAll(plain, " ", "\t ")+"\r", Fault{})
	f("1 2 3", Fault{"", "3 fields", "18"})
	f(plain+" 0", Fault{"", "19 fields", "18"})
	f("0"+plain[1:], Fault{"job number", "0", "a whole number from 1 to 8589934592"})
	f(strings.Replace(plain, "60", "-1", 1), Fault{"submit time", "-1", "a number from 0 to 8589934592"})
	f(strings.Replace(plain, "120", "-2", 1), Fault{"run time", "-2", "a number from 0 to 8589934592 or -1"})
	f(strings.Replace(plain, "120", "1e3", 1), Fault{"run time", "1e3", "a number from 0 to 8589934592 or -1"})
	f(strings.Replace(plain, "120", "-1.5", 1), Fault{"run time", "-1.5", "a number from 0 to 8589934592 or -1"})
	f(strings.Replace(plain, "120 4", "120 4.5", 1), Fault{"allocated processors", "4.5", "a whole number from 0 to 8589934592 or -1"})
	f(strings.Replace(plain, "120", "9999999999999999999999", 1), Fault{"run time", "9999999999999999999999", "a number from 0 to 8589934592 or -1"})
	f(strings.Replace(plain, "120", "+120", 1), Fault{"run time", "+120", "a number from 0 to 8589934592 or -1"})
}

func TestRecordMeans(t *testing.T) {
	f := func(line string, tenant poise.TenantID, ran bool, procs, memory int64) {
		t.Helper()
		r, fault := ParseRecord(line)
		if fault != nil {
			t.Fatal(*fault)
		}
		if r.Tenant() != tenant || r.Ran() != ran {
			t.Errorf("%s: tenant %s, ran %v; want %s, %v", line, r.Tenant(), r.Ran(), tenant, ran)
		}
		if !ran {
			return
		}
		if n, bytes, ok := r.Ask(); n != procs || bytes != memory || !ok {
			t.Errorf("%s: %d processors, %d bytes, %v; want %d, %d", line, n, bytes, ok, procs, memory)
		}
	}
	f(plain, "tenant-12", true, 4, 2048*1024)
	f("7 60 5 120 4 -1 2048 8 600 1 1 -1 3 -1 1 -1 -1 -1", "default", true, 8, 1024)
	f("7 60 5 120 4 -1 -1 -1 600 -1 1 0 3 -1 1 -1 -1 -1", "tenant-0", true, 4, 0)
	f("7 60 5 120 4 -1 -1 -1 600 -1 3 0 3 -1 1 -1 -1 -1", "tenant-0", false, 0, 0) // a part
	f("7 60 5 -1 4 -1 -1 -1 600 -1 5 0 3 -1 1 -1 -1 -1", "tenant-0", false, 0, 0)  // never started
	f("7 60 5 120 -1 -1 -1 -1 600 -1 1 0 3 -1 1 -1 -1 -1", "tenant-0", false, 0, 0)
	f("7 60 5 120 4 -1 -1 -1 600 -1 5 0 3 -1 1 -1 -1 -1", "tenant-0", true, 4, 0) // cancelled while it ran
	r, _ := ParseRecord("7 60 5 120 8589934592 -1 -1 -1 600 8589934592 1 0 3 -1 1 -1 -1 -1")
	if _, _, ok := r.Ask(); ok {
		t.Error("2^76 bytes are taken")
	}
}

func TestHeader(t *testing.T) {
	var h Header
	for _, line := range []string{"; Version: 2.2", ";MaxNodes: 16", "; MaxProcs:   128 (in 16 nodes)", ";", "; note", ";; UnixStartTime: 5", "; MaxJobs: x", "; MaxNodes: -1"} {
		if fault := h.Comment(line); fault != nil {
			t.Errorf("%q: %+v", line, *fault)
		}
	}
	if want := (Header{MaxNodes: 16, MaxProcs: 128, UnixStartTime: 5}); h != want || h.Width() != 8 {
		t.Errorf("%+v, width %d, want %+v, 8", h, h.Width(), want)
	}
	var again Header
	for line := range strings.Lines(string(h.Append(nil))) {
		again.Comment(strings.TrimSuffix(line, "\n"))
	}
	if again != h {
		t.Errorf("written and read back: %+v, want %+v", again, h)
	}
	if fault := h.Comment("; MaxProcs: many"); fault == nil || fault.Field != "MaxProcs" || fault.Value != "many" {
		t.Errorf("%+v", fault)
	}
	if (&Header{MaxProcs: 8}).Width() != 0 {
		t.Error("a width without nodes")
	}
}
