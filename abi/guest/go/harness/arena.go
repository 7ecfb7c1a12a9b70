package harness

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	poise "github.com/poise-sched/poise/abi/guest/go"
)

// arena holds the blocks of one call. Pointers are offsets in it.
type arena struct {
	t        testing.TB
	manifest manifest
	dims     []string
	world    World
	symbols  []string // the text of symbol i+1

	words  []uint64 // for its alignment
	bytes  []byte
	call   *poise.Call
	values int // where the answers go
	masks  int
}

var le = binary.LittleEndian

// lay writes all blocks for a call on the rows.
func lay(t testing.TB, p *poise.Plugin, w World, rows []int) *arena {
	t.Helper()
	a := &arena{t: t, world: w}
	text := p.Manifest()
	if err := json.Unmarshal(text, &a.manifest); err != nil {
		t.Fatalf("manifest %s: %v", text, err)
	}
	m := &a.manifest
	for _, c := range m.Columns {
		word, dim, _ := strings.Cut(c, ":")
		if (word == "capacity" || word == "allocated") && !slices.Contains(a.dims, dim) {
			a.dims = append(a.dims, dim)
		}
	}
	for _, n := range w.Nodes {
		a.checkNode(n)
	}
	// The order of symbols is that of first use, over all nodes: an answer for
	// one row is compared with that for all of them.
	for _, n := range w.Nodes {
		for _, key := range slices.Concat(m.Labels, m.Domains, m.Columns) {
			if s, ok := n[key].(string); ok {
				a.symbol(s)
			}
		}
	}

	table := a.take(64)
	descriptors := a.take(16 * (len(m.Columns) + len(m.Labels)))
	params := a.take(8 * len(m.Params))
	job := a.take(48)
	out := a.take(16)
	a.putParams(params)
	a.putJob(job)
	fleet := a.putFleet()
	domains := a.putDomains()
	profile := a.putProfile()
	bits := a.take((len(rows) + 63) / 64 * 8)
	for i, n := range rows {
		if w.Nodes[n]["candidate"] != false {
			a.bytes[bits+i/8] |= 1 << (i % 8)
		}
	}
	slots := a.deviceSlots()
	for i, c := range slices.Concat(m.Columns, m.Labels) {
		kind, stride := 4, 4 // a label
		if i < len(m.Columns) {
			kind, stride = kindOf(c, slots)
		}
		at := a.take(stride * len(rows))
		a.put(descriptors+16*i, kind, at, stride, 0)
		for r, n := range rows {
			a.putElement(at+stride*r, kind, w.Nodes[n][c])
		}
	}
	a.values = a.take(8 * len(rows))
	if m.ChoosesDevices {
		a.masks = a.take(4 * len(rows))
	}
	if len(m.Params) == 0 {
		params = 0
	}
	const magic = 0x53494F50
	a.put(table, magic, 0, len(rows), len(rows), len(m.Columns)+len(m.Labels), len(a.dims),
		bits, params, fleet, domains, profile, slots, descriptors, len(m.Params), 0, 0)
	a.put(out, a.values, a.masks, len(rows), 0)
	a.call = &poise.Call{}
	a.call.Open(unsafe.Pointer(&a.words[0]), uint32(table), uint32(job), uint32(out))
	return a
}

// take gives the offset of a new block, a multiple of 8. It may move the arena,
// so nothing points into it until all blocks are taken.
func (a *arena) take(size int) int {
	at := len(a.bytes)
	a.words = append(a.words, make([]uint64, (size+7)/8)...)
	if len(a.words) > 0 {
		a.bytes = unsafe.Slice((*byte)(unsafe.Pointer(&a.words[0])), 8*len(a.words))
	}
	return at
}

// put writes u32 after u32.
func (a *arena) put(at int, values ...int) {
	for i, v := range values {
		le.PutUint32(a.bytes[at+4*i:], uint32(v))
	}
}

func (a *arena) put64(at int, v uint64) { le.PutUint64(a.bytes[at:], v) }

func (a *arena) putF64(at int, v float64) { a.put64(at, math.Float64bits(v)) }

func (a *arena) u32(at int) uint32 { return le.Uint32(a.bytes[at:]) }

func (a *arena) f64(at int) float64 { return math.Float64frombits(le.Uint64(a.bytes[at:])) }

// symbol gives the number of a text.
func (a *arena) symbol(text string) int {
	if text == "" {
		return 0
	}
	i := slices.Index(a.symbols, text)
	if i < 0 {
		i = len(a.symbols)
		a.symbols = append(a.symbols, text)
	}
	return i + 1
}

// putSymbols writes a list and gives its offset.
func (a *arena) putSymbols(texts []string) int {
	at := a.take(4 * len(texts))
	for i, s := range texts {
		a.put(at+4*i, a.symbol(s))
	}
	return at
}

// kindOf gives the kind of a column and the bytes of a row of it.
func kindOf(column string, slots int) (kind, stride int) {
	word, _, _ := strings.Cut(column, ":")
	switch word {
	case "capacity":
		return 1, 8
	case "allocated":
		return 2, 8
	case "class":
		return 3, 4
	case "taints":
		return 5, 8
	case "selectors":
		return 6, 8
	case "devices":
		return 7, 2 * slots
	case "device_model":
		return 8, 4
	case "running_tasks":
		return 9, 4
	case "tenant_tasks":
		return 10, 4
	case "job_tasks":
		return 11, 4
	}
	return 12, 8 // age
}

// putElement writes what a node has in a column.
func (a *arena) putElement(at, kind int, v any) {
	switch kind {
	case 1, 2, 12:
		a.putF64(at, a.number(v))
	case 5, 6:
		a.put64(at, uint64(a.number(v)))
	case 7:
		for d, free := range deviceList(v) {
			le.PutUint16(a.bytes[at+2*d:], uint16(free))
		}
	case 3, 4, 8:
		s, _ := v.(string)
		a.put(at, a.symbol(s))
	default:
		a.put(at, int(a.number(v)))
	}
}

// number reads a number of any type; what is not given is 0.
func (a *arena) number(v any) float64 {
	a.t.Helper()
	switch r := reflect.ValueOf(v); {
	case !r.IsValid():
		return 0
	case r.CanInt():
		return float64(r.Int())
	case r.CanUint():
		return float64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	a.t.Fatalf("%v: %T, expected a number", v, v)
	return 0
}

func deviceList(v any) []int {
	list, _ := v.([]int)
	return list
}

// deviceSlots is the most devices of a node.
func (a *arena) deviceSlots() int {
	slots := 0
	for _, n := range a.world.Nodes {
		for _, c := range a.manifest.Columns {
			slots = max(slots, len(deviceList(n[c])))
		}
	}
	return slots
}

// checkNode refuses names that the plugin does not have: a column written wrong
// would be a column of zeros.
func (a *arena) checkNode(n Node) {
	a.t.Helper()
	m := &a.manifest
	for key, v := range n {
		if key == "candidate" {
			continue
		}
		if !slices.Contains(slices.Concat(m.Columns, m.Labels, m.Domains), key) && !a.counted(key) {
			a.t.Fatalf("node: %s, expected one of the plugin's columns %q, labels %q and domains %q", key, m.Columns, m.Labels, m.Domains)
		}
		_, isText := v.(string)
		_, isList := v.([]int)
		word, _, _ := strings.Cut(key, ":")
		wantText := !slices.Contains(m.Columns, key) && !a.counted(key) || word == "class" || word == "device_model"
		if isText != wantText || isList != (word == "devices") {
			a.t.Fatalf("node: %s: %v of type %T, expected text for labels, classes and models, []int for devices, a number for the others", key, v, v)
		}
	}
}

// counted says whether a key is no column of the plugin but counts in its
// domains and fleet.
func (a *arena) counted(key string) bool {
	if key == "tenant_tasks" || key == "job_tasks" {
		return len(a.manifest.Domains) > 0
	}
	word, dim, _ := strings.Cut(key, ":")
	return (word == "capacity" || word == "allocated") && slices.Contains(a.dims, dim)
}

// parse reads a parameter's text as its 8 bytes.
func (a *arena) parse(kind, text string, values []string) uint64 {
	a.t.Helper()
	var bits uint64
	var err error
	switch kind {
	case "f64":
		var v float64
		v, err = strconv.ParseFloat(text, 64)
		bits = math.Float64bits(v)
	case "i64":
		var v int64
		v, err = strconv.ParseInt(text, 10, 64)
		bits = uint64(v)
	case "bool":
		var v bool
		v, err = strconv.ParseBool(text)
		if v {
			bits = 1
		}
	case "enum":
		i := slices.Index(values, text)
		if i < 0 {
			a.t.Fatalf("params: %q, expected one of %q", text, values)
		}
		bits = uint64(i)
	default:
		bits = uint64(a.symbol(text))
	}
	if err != nil {
		a.t.Fatalf("params: %v", err)
	}
	return bits
}
