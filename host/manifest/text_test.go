package manifest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/poise-sched/poise/host/poise"
)

const oneNode = "node: a\ncapacity: {cpu: 1}\n"

func compressed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestForms(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		nodes, err := DecodeNodes(name, strings.NewReader(text))
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		var got []string
		for i := range nodes {
			got = append(got, nodes[i].Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	const csv = "sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\n"
	const jsonl = `{"node": "a", "capacity": {"cpu": 1}}`
	f("x.yaml", oneNode, "a")
	f("X.YML", oneNode, "a")
	f("x.json", jsonl, "a")
	f("x.csv", csv, "a")
	f("x.yaml", jsonl, "a") // JSON on its own is YAML
	f("x", oneNode, "a")
	f("x", "# a comment, with a comma\n\n"+oneNode, "a")
	f("x", "---\n"+oneNode, "a")
	f("", jsonl, "a")
	f("", "\n  "+jsonl, "a")
	f("x.txt", csv, "a")
	// Compression goes by content; the name only has to leave the extension.
	f("x.csv.gz", compressed(t, csv), "a")
	f("x.csv", compressed(t, csv), "a")
	f("x.csv.gz", csv, "a")
	f("x.JSONL.GZ", compressed(t, jsonl), "a")
	f("x", compressed(t, oneNode)+compressed(t, "---\nnode: b\ncapacity: {cpu: 1}\n"), "a b")
	// Line ends and byte order marks as editors leave them.
	f("x.yaml", strings.ReplaceAll(oneNode+"---\n"+"node: b\ncapacity: {cpu: 1}\n", "\n", "\r\n"), "a b")
	f("x.csv", strings.ReplaceAll(csv, "\n", "\r\n"), "a")
	f("x.jsonl", jsonl+"\r\n"+`{"node": "b", "capacity": {"cpu": 1}}`+"\r\n", "a b")
	f("x.yaml", "\ufeff"+oneNode, "a")
	f("x.csv", "\ufeff"+csv, "a")
	f("x.jsonl", "\ufeff"+jsonl, "a")
	f("x.csv", compressed(t, "\ufeff"+csv), "a")
	// A marker inside text is text.
	f("x.yaml", "node: a\ncapacity: {cpu: 1}\nlabels:\n  note: |\n    ---\n    more\n", "a")
	f("x.yaml", "node: a # --- \ncapacity: {cpu: 1}\n--- \n...\n---\nnode: b\ncapacity: {cpu: 1}", "a b")
	// Copies.
	f("x.yaml", "node: n\ncount: 11\ncapacity: {cpu: 1}", "n-00 n-01 n-02 n-03 n-04 n-05 n-06 n-07 n-08 n-09 n-10")
	f("x.yaml", "node: n\ncount: 10\ncapacity: {cpu: 1}", "n-0 n-1 n-2 n-3 n-4 n-5 n-6 n-7 n-8 n-9")
	f("x.yaml", "node: n\ncount: 1\ncapacity: {cpu: 1}", "n")
}

func TestTextFaults(t *testing.T) {
	lim := limits{text: 10000, record: 500, nouns: 30}
	f := func(text, want string) {
		t.Helper()
		_, err := decodeNodes("x.yaml", strings.NewReader(text), lim)
		if err == nil || err.Error() != want || poise.KindOf(err) != poise.Invalid {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	whole := compressed(t, strings.Repeat("---\n", 40)+oneNode)
	f(whole[:8], "x.yaml: corrupt gzip data (unexpected EOF): expected a whole gzip file")
	f(whole[:len(whole)-9], "x.yaml:43: corrupt gzip data (unexpected EOF): expected a whole gzip file")
	f(whole[:len(whole)-8]+"12345678", "x.yaml:43: corrupt gzip data (gzip: invalid checksum): expected a whole gzip file")
	f(whole+"rest", "x.yaml:43: corrupt gzip data (unexpected EOF): expected a whole gzip file")
	f("\x1f\x8b\x00\x00\x00\x00\x00\x00\x00\x00", "x.yaml: corrupt gzip data (gzip: invalid header): expected a whole gzip file")
	f(oneNode+"# "+strings.Repeat("x", 500), "x.yaml:3: line of more than 500 bytes: expected shorter lines")
	f("---\n"+oneNode+strings.Repeat("# some text\n", 50), "x.yaml:1: document of more than 500 bytes: expected smaller documents, set apart by ---")
	f(strings.Repeat("---\n", 2501), "x.yaml:2501: more than 10000 bytes of text: expected a file of at most that, after decompression")
	f(compressed(t, strings.Repeat("---\n", 1<<20)), "x.yaml:2501: more than 10000 bytes of text: expected a file of at most that, after decompression")
	f(compressed(t, strings.Repeat("x", 1<<20)), "x.yaml:1: line of more than 500 bytes: expected shorter lines")
	f("node: a\xff\n", "x.yaml:1: bytes that are not UTF-8: expected UTF-8 text")
	f("\xff\xfen\x00o\x00", "x.yaml:1: bytes that are not UTF-8: expected UTF-8 text")
	f("node: n\ncount: 31\ncapacity: {cpu: 1}", `x.yaml:1: node: "n" brings the file to 31: expected at most 30 in one file`)
	f("node: n\ncount: 30\ncapacity: {cpu: 1}\n---\n"+oneNode, `x.yaml:5: node: "a" brings the file to 31: expected at most 30 in one file`)
	f("node: n-1\ncapacity: {cpu: 1}\n---\nnode: n\ncount: 2\ncapacity: {cpu: 1}\n", `x.yaml:4: node: "n-1" is given on line 1 too: expected every name once`)
	f("a: b\rc: d\r---\re: f\r", "x.yaml:1: second document without a line --- before it: expected a YAML document")
	f("%YAML 1.2\n---\n"+oneNode, "x.yaml:1: found incompatible YAML document: expected a YAML document")
	f(oneNode+"x: \u2028\x00", "x.yaml:3: control characters are not allowed: expected a YAML document")
	f("node: "+strings.Repeat("n", 300)+"\ncapacity: {cpu: 1}", "x.yaml:1: node: 300 bytes: expected at most 253")
	f("node: a\ncapacity: {cpu: "+strings.Repeat("é", 100)+"}", "x.yaml:2: capacity.cpu: \"éééééééé\"… is 200 bytes long: expected an amount of at most 128 bytes, such as 500m, 2 or 0.25")
	f("node: ["+strings.Repeat("n", 100)+"]\ncount: "+strings.Repeat("é", 60)+"\ncapacity: {cpu: 1}",
		"x.yaml:1: node: a list: expected text, in quotes where it looks like something else\n"+
			"x.yaml:2: count: \""+strings.Repeat("é", 40)+"\"…: expected a whole number from 1 to 1000000")
}

func TestErrorsAreBounded(t *testing.T) {
	f := func(name, text string) {
		t.Helper()
		_, err := DecodeNodes(name, strings.NewReader(text))
		if err == nil {
			t.Fatal("no error")
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != maxErrors+1 || lines[maxErrors] != name+": 20 errors shown, there may be more" {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
	}
	f("x.yaml", strings.Repeat("a: b\n---\n", 100))
	f("x.yaml", "labels: {"+strings.Repeat("1: a, ", 100)+"}\n")
	f("x.jsonl", strings.Repeat("x\n", 100))
	f("x.csv", "sn,cpu_milli,memory_mib,gpu,model\n"+strings.Repeat("a\n", 100))
}

func TestSpans(t *testing.T) {
	f := func(text string, want poise.Span) {
		t.Helper()
		jobs, err := DecodeJobs("x.yaml", strings.NewReader("job: a\nrequest: {}\nrun_time: "+text+"\n"))
		if want < 0 {
			if err == nil {
				t.Errorf("%s: %d ms, want an error", text, jobs[0].RunTime)
			}
			return
		}
		if err != nil || jobs[0].RunTime != want {
			t.Errorf("%s: %v, want %d ms", text, err, want)
		}
	}
	f("20m", 1_200_000)
	f("1h30m", 5_400_000)
	f("1.5s", 1500)
	f("250ms", 250)
	f("0", 0)
	f("0s", 0)
	f(`"10s"`, 10_000)
	f("2562047h", 2_562_047*3_600_000)
	f("2562048h", -1)
	f("10", -1)
	f("1d", -1)
	f("-1s", -1)
	f("1us", -1)
	f("1.0001ms", -1)
	f("", -1)
	f("[1s]", -1)
	f("NaN", -1)
}

func TestUnreadable(t *testing.T) {
	_, err := ReadNodes(filepath.Join(t.TempDir(), "none.yaml"))
	if poise.KindOf(err) != poise.NotFound || !strings.HasSuffix(err.Error(), `none.yaml": no such file`) {
		t.Errorf("%v", err)
	}
	_, err = ReadJobs(t.TempDir())
	if poise.KindOf(err) != poise.Unavailable {
		t.Errorf("%v", err)
	}
	broken := errors.New("cable cut")
	_, err = DecodeNodes("x.yaml", io.MultiReader(strings.NewReader("x: y\n"), iotest.ErrReader(broken)))
	if poise.KindOf(err) != poise.Unavailable || !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	_, err = DecodeJobs("x.csv", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("name,"))))
	if poise.KindOf(err) != poise.Unavailable || !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("%v", err)
	}
}

// TestReadFile checks that a path with a directory and .gz comes through.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.yaml.gz")
	if err := os.WriteFile(path, []byte(compressed(t, oneNode+"drained: 1\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadNodes(path)
	if want := fmt.Sprintf(`%s:3: drained: "1": expected true or false`, path); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
