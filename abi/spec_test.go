package abi

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the worked example into SPEC.md")

const exampleManifest = `{"name":"near","version":"1.0.0",
 "columns":["capacity:cpu","allocated:cpu","devices"],"labels":["zone"],
 "params":[{"name":"weight","type":"f64","default":0.5},{"name":"home","type":"symbol","default":"east"}],
 "reasons":{"1":"too far"},"job_fields":["priority"],"chooses_devices":true,"row_pure":true}`

// exampleArena lays two rows out at 0x400.
func exampleArena(t *testing.T) (*Layout, []byte) {
	t.Helper()
	m, err := ParseManifest([]byte(exampleManifest))
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLayout(m, Sizes{Rows: 2, Devices: 2})
	if err != nil {
		t.Fatal(err)
	}
	const base = 0x400
	arena := make([]byte, l.Size)
	l.PutTable(arena, base, 2)
	settings, err := m.Settings(nil)
	if err != nil {
		t.Fatal(err)
	}
	const east, west, gpu = 3, 4, 1
	binary.LittleEndian.PutUint64(arena[l.Params:], settings[0].Bits)
	binary.LittleEndian.PutUint64(arena[l.Params+8:], east)
	l.PutJob(arena, base, &JobBlock{
		DeviceCount: 1, DeviceMilli: 500, DeviceKind: gpu, Fields: []uint64{10}, Request: []float64{2000},
	})
	l.PutFleet(arena, base, &FleetBlock{Nodes: 2, Sum: []float64{24000}, Max: []float64{16000}})
	arena[l.Candidate] = 0b01
	column := func(i int) []byte { return arena[l.Columns[i].Offset:] }
	doubles(column(0), []float64{16000, 8000})
	doubles(column(1), []float64{4000, 8000})
	for i, milli := range []uint16{1000, 250, 0, 0} {
		binary.LittleEndian.PutUint16(column(2)[2*i:], milli)
	}
	words(column(3), east, west)
	return l, arena
}

// dump shows the arena block by block.
func dump(l *Layout, arena []byte) string {
	var b strings.Builder
	part := func(name string, at, size int) {
		fmt.Fprintf(&b, "%s\n", name)
		for ; size > 0; at, size = at+16, size-16 {
			n := min(size, 16)
			fmt.Fprintf(&b, "  %04x  ", 0x400+at)
			for i := range n {
				if i > 0 && i%4 == 0 {
					b.WriteByte(' ')
				}
				fmt.Fprintf(&b, "%02x ", arena[at+i])
			}
			s := strings.TrimRight(b.String(), " ")
			b.Reset()
			b.WriteString(s + "\n")
		}
	}
	part("table header", 0, 64)
	part("column descriptors: capacity:cpu, allocated:cpu, devices, label zone", l.columns, 64)
	part("parameters: weight 0.5, home = symbol 3 (\"east\")", l.Params, 16)
	part("job: half of one gpu (symbol 1)", l.Job, 48)
	part("fields: priority 10", l.fields, 8)
	part("request: 2 cores", l.request, 8)
	part("output header", l.Out, 16)
	part("fleet, and its list: sum 24 cores, largest 16", l.Fleet, 32)
	part("candidate bits: row 0", l.Candidate, 8)
	part("capacity:cpu: 16 and 8 cores", l.Columns[0].Offset, 16)
	part("allocated:cpu: 4 and 8 cores", l.Columns[1].Offset, 16)
	part("devices: row 0 has 1000 and 250 milli free, row 1 has no device", l.Columns[2].Offset, 8)
	part("label zone: symbols 3 (\"east\") and 4 (\"west\")", l.Columns[3].Offset, 8)
	return b.String()
}

// The bytes of the worked example are the contract: SPEC.md shows them.
func TestWorkedExample(t *testing.T) {
	l, arena := exampleArena(t)
	got := fmt.Sprintf("```json\n%s\n```\n\n```\n%s```\n", exampleManifest, dump(l, arena))
	text, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- the bytes, by go test -update ./abi -->\n"
	before, after, ok := strings.Cut(string(text), mark)
	if !ok {
		t.Fatalf("SPEC.md: no line %q", mark)
	}
	if *update {
		_, rest, _ := strings.Cut(after, "\nReading it:")
		if err := os.WriteFile("SPEC.md", []byte(before+mark+got+"\nReading it:"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.HasPrefix(after, got) {
		t.Errorf("the bytes differ from SPEC.md; if the contract is to change, go test -update ./abi\n%s", got)
	}
}

// Domains and profile, as a guest reads them.
func TestBlocks(t *testing.T) {
	m, err := ParseManifest([]byte(`{"name":"x","version":"1","columns":["capacity:cpu"],"domains":["zone"],"wants_profile":true}`))
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLayout(m, Sizes{Rows: 64, Shapes: 2, ShapeModels: 2, Values: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	const base = 4096
	arena := make([]byte, l.Size)
	l.PutTable(arena, base, 0)
	l.PutDomains(arena, base, []DomainBlock{{Absent: 7, Values: []DomainValue{
		{Value: 3, Nodes: 5, TenantTasks: 2, JobTasks: 1, Capacity: []float64{10}, Allocated: []float64{4}},
		{Value: 9, Nodes: 6, TenantTasks: 8, Capacity: []float64{20}, Allocated: []float64{5}},
	}}})
	l.PutProfile(arena, base, &ProfileBlock{Epoch: 4, TotalCount: 12, TotalWeight: 13.5, Shapes: []ShapeBlock{
		{Count: 10, Weight: 11, DeviceCount: 1, DeviceMilli: 100, Models: []uint32{21, 22}, Request: []float64{2000}},
		{Count: 2, Weight: 2.5, Request: []float64{1000}},
	}})
	u32 := func(at uint32) uint32 { return binary.LittleEndian.Uint32(arena[at-base:]) }
	f64 := func(at uint32) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(arena[at-base:])) }
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, expected %v", what, got, want)
		}
	}
	domains := u32(base + 36)
	check("keys", u32(domains), uint32(1))
	key := u32(domains + 4)
	for i, want := range []uint32{2, u32(key + 4), 32, 7, 2, 8, 0, 1, 5, 6} {
		check(fmt.Sprintf("key word %d", i), u32(key+4*uint32(i)), want)
	}
	value := u32(key+4) + u32(key+8) // the second one
	check("value", u32(value), uint32(9))
	check("nodes", u32(value+4), uint32(6))
	check("tenant tasks", u32(value+8), uint32(8))
	check("capacity", f64(value+16), 20.0)
	check("allocated", f64(value+24), 5.0)
	profile := u32(base + 40)
	check("epoch", u32(profile), uint32(4))
	check("total count", f64(profile+8), 12.0)
	check("total weight", f64(profile+16), 13.5)
	check("shapes", u32(profile+24), uint32(2))
	check("shape stride", u32(profile+28), uint32(40))
	shape := u32(profile + 32)
	check("count", f64(shape), 10.0)
	check("milli", u32(shape+20), uint32(100))
	check("models", u32(shape+24), uint32(2))
	check("second model", u32(u32(shape+28)+4), uint32(22))
	check("request", f64(shape+32), 2000.0)
	check("second shape's count", f64(shape+40), 2.0)
}
