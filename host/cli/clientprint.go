package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/resource"
)

// oneOf refuses a value that a flag does not have.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef("--%s %q: expected %s", flag, value, strings.Join(allowed, ", "))
}

// output is the form in which a command prints.
type output string

func (o *output) addFlag(cmd *cobra.Command) {
	*o = "table"
	cmd.Flags().StringVarP((*string)(o), "output", "o", "table", "table, json or yaml")
	// It fails for a flag that is not there, and this one is.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "yaml"}, cobra.ShellCompDirectiveNoFileComp))
}

func (o output) check() error {
	if o != "table" && o != "json" && o != "yaml" {
		return usagef("--output %q: expected table, json or yaml", string(o))
	}
	return nil
}

// print prints v, or its table.
func (o output) print(w io.Writer, v any, table func(io.Writer) error) error {
	switch o {
	case "json":
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(v)
	case "yaml":
		return printYAML(w, v)
	}
	return table(w)
}

// showAnswer asks the daemon and prints the answer, or its table.
func showAnswer[T any](
	cmd *cobra.Command, s Streams, r *remote, o output,
	ask func(context.Context, *client.Client) (T, error), table func(io.Writer, T) error,
) error {
	if err := o.check(); err != nil {
		return err
	}
	return r.call(cmd, func(ctx context.Context, c *client.Client) error {
		v, err := ask(ctx, c)
		if err != nil {
			return err
		}
		return o.print(s.Out, v, func(w io.Writer) error { return table(w, v) })
	})
}

// printYAML prints what JSON would, with its names and its order.
func printYAML(w io.Writer, v any) error {
	var text bytes.Buffer
	j := json.NewEncoder(&text)
	j.SetEscapeHTML(false)
	if err := j.Encode(v); err != nil {
		return err
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text.Bytes(), &n); err != nil {
		return err
	}
	plainStyle(&n)
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return err
	}
	return e.Close()
}

// plainStyle takes the braces and quotes of JSON off a tree; the encoder quotes
// again where it must.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plainStyle(c)
	}
}

// rows is a table of cells.
type rows [][]string

func (r *rows) add(cells ...string) { *r = append(*r, cells) }

// write prints the rows; where there is only the heading, it says so of the
// thing.
func (r rows) write(w io.Writer, thing string) error {
	if len(r) == 1 {
		_, err := fmt.Fprintf(w, "no %s\n", thing)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range r {
		for i := range cells {
			cells[i] = cell(cells[i])
		}
		if _, err := fmt.Fprintln(t, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// facts prints names and values, those without a value left out.
func facts(w io.Writer, pairs ...string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(t, "%s\t%s\n", pairs[i], cell(pairs[i+1])); err != nil {
			return err
		}
	}
	return t.Flush()
}

// cell gives a text as it may stand in a terminal: what others wrote must not
// move the cursor.
func cell(text string) string {
	if text == "" {
		return "-"
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// moment prints a time; "" where there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// amounts prints quantities by name, such as "cpu 4, memory 16Gi".
func amounts(list map[string]client.Quantity) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		parts = append(parts, name+" "+string(list[name]))
	}
	return strings.Join(parts, ", ")
}

// short prints an amount for a table: bytes with three digits, in the largest
// binary unit of which there is a whole one. What has no more digits, and other
// amounts, are printed as they are.
func short(name string, q client.Quantity) string {
	text := string(q)
	digits := strings.TrimRight(strings.ReplaceAll(text, ".", ""), "KMGTPEik")
	v, err := resource.ParseCapacity(name, text)
	if err != nil || resource.UnitOf(name) != resource.Bytes || len(digits) <= 3 || v < 1<<10 {
		return text
	}
	unit := (bits.Len64(uint64(v)) - 1) / 10
	scaled := float64(v) / float64(uint64(1)<<(10*unit))
	if scaled >= 999.5 && unit < 6 {
		scaled, unit = scaled/1024, unit+1
	}
	// %.3g would print 1000 as 1e+03.
	decimals := 2 - min(2, len(strconv.Itoa(int(scaled)))-1)
	number := strconv.FormatFloat(scaled, 'f', decimals, 64)
	if decimals > 0 {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + string("KMGTPE"[unit-1]) + "i"
}

// indexes prints device indexes, such as "0,1".
func indexes(devices []uint16) string {
	parts := make([]string, len(devices))
	for i, d := range devices {
		parts[i] = strconv.Itoa(int(d))
	}
	return strings.Join(parts, ",")
}

// countText prints a count; "" where there is none.
func countText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
