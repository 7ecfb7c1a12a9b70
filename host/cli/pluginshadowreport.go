package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/poise-sched/poise/host/api/client"
)

// printShadow prints a report with at most so many decisions in each table.
func printShadow(w io.Writer, v *client.Shadow, most int) error {
	err := facts(w,
		"shadow", v.Plugin+"@"+v.Version+" "+shadowOwner(v), "digest", v.Digest, "parameters", paramText(v.Params),
		"weight", weightText(v.Weight), "on failure", v.OnFailure, "by", v.By, "since", moment(v.Since),
		"compared", fmt.Sprintf("%d decisions, %d dropped", v.Decisions, v.Dropped),
		"agreement", fmt.Sprintf("%s same node and devices, %s same verdict", percentText(v.Agreed, v.Decisions), percentText(v.SameVerdict, v.Decisions)),
		"faults", faultText(v),
		"fuel", fmt.Sprintf("%.0f a decision, %d at most, of %d; %d a second", v.Fuel.PerDecision, v.Fuel.Most, v.Fuel.Budget, v.Fuel.PerSecond),
		"cost", spreadText(&v.Cost, "by the policy in force, the shadow's node loses more"),
		"gain", spreadText(&v.Gain, "by the shadow, the live node loses more"),
	)
	if err != nil {
		return err
	}
	for _, table := range []struct {
		title string
		list  []client.ShadowDifference
	}{{"latest differences", v.Latest}, {"largest differences", v.Largest}} {
		if len(table.list) == 0 || most == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", table.title); err != nil {
			return err
		}
		list := rows{{"INDEX", "JOB", "LIVE", "SHADOW", "LIVE LOSS OF BOTH", "SHADOW LOSS OF BOTH"}}
		for i := range table.list[:min(most, len(table.list))] {
			d := &table.list[i]
			losses := []string{opinionsText(d.LiveOnLive, d.LiveOnWould), opinionsText(d.WouldOnLive, d.WouldOnOwn)}
			if d.Gang == nil {
				list.add(append([]string{strconv.FormatUint(d.Index, 10), d.Name, choiceText(&d.Live), choiceText(&d.Would)}, losses...)...)
				continue
			}
			addGang(&list, d, losses)
		}
		if err := list.write(w, "differences"); err != nil {
			return err
		}
	}
	return printRerun(w, v.Fleet)
}

// addGang adds a line for a gang, and one for each member that goes elsewhere: the
// losses stand with the member that they are of.
func addGang(list *rows, d *client.ShadowDifference, losses []string) {
	g := d.Gang
	list.add(strconv.FormatUint(d.Index, 10), fmt.Sprintf("gang %s: %d of %d tasks", d.Name, g.Differ, g.Tasks), "", "", "", "")
	shown := false
	for i := range g.Members {
		m := &g.Members[i]
		line := []string{"", fmt.Sprintf("task %d", m.Index), choiceText(&m.Live), choiceText(&m.Would), "", ""}
		if m.Job == d.Job {
			copy(line[4:], losses)
			shown = true
		}
		list.add(line...)
	}
	if more := int(g.Differ) - len(g.Members); more > 0 {
		line := []string{"", fmt.Sprintf("%d more", more), "", "", "", ""}
		if !shown {
			line[2], line[3] = choiceText(&d.Live), choiceText(&d.Would)
			copy(line[4:], losses)
		}
		list.add(line...)
	}
}

func printRerun(w io.Writer, f *client.ShadowRerun) error {
	if f == nil {
		return nil
	}
	if f.Running || f.Error != "" {
		_, err := fmt.Fprintf(w, "\nfleet: %s\n", cmp.Or(f.Error, "recorded jobs are being decided again"))
		return err
	}
	_, err := fmt.Fprintf(w, "\nfleet after events %d to %d: %d placements decided again, %d moved, %d of others displaced, %d jobs would wait, %d more would run\n",
		f.From+1, f.To, f.Decided, f.Moved, f.Displaced, f.Waiting, f.Placed)
	if err != nil {
		return err
	}
	list := rows{{"FLEET", "LIVE", "SHADOW"}}
	for _, name := range slices.Sorted(maps.Keys(f.Live.Fill)) {
		list.add(name+" allocated", shareText(f.Live.Fill[name]), shareText(f.Would.Fill[name]))
	}
	list.add("stranded devices", strconv.FormatInt(f.Live.Stranded, 10), strconv.FormatInt(f.Would.Stranded, 10))
	list.add("balance degree", fmt.Sprintf("%.4f", f.Live.Balance), fmt.Sprintf("%.4f", f.Would.Balance))
	return list.write(w, "fleet")
}

func shareText(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }

// percentText cuts, so that only all of them are 100 %.
func percentText(n, of int64) string {
	if of == 0 {
		return "none"
	}
	hundredths := n * 10_000 / of
	return fmt.Sprintf("%d.%02d %%", hundredths/100, hundredths%100)
}

func paramText(params map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, name+"="+params[name])
	}
	return strings.Join(parts, ", ")
}

func weightText(x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprint(x)
}

func faultText(v *client.Shadow) string {
	if v.Faulted == 0 {
		return "none"
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(v.Faults)) {
		parts = append(parts, fmt.Sprintf("%s %d", code, v.Faults[code]))
	}
	return fmt.Sprintf("in %d decisions: %s", v.Faulted, strings.Join(parts, ", "))
}

func spreadText(s *client.ShadowSpread, what string) string {
	if s.Count == 0 {
		return ""
	}
	var parts []string
	for _, b := range s.Bands {
		if b.Count == 0 {
			continue
		}
		upTo := "more"
		if b.UpTo != nil {
			upTo = fmt.Sprintf("up to %g", *b.UpTo)
		}
		parts = append(parts, fmt.Sprintf("%s: %d", upTo, b.Count))
	}
	return fmt.Sprintf("%s: mean %.4g, most %.4g (%s)", what, s.Mean, s.Most, strings.Join(parts, ", "))
}

func choiceText(c *client.ShadowChoice) string {
	if c.Node == "" {
		return cmp.Or(c.Reason, c.Verdict)
	}
	text := c.Node
	if len(c.Devices) > 0 {
		text += " " + indexes(c.Devices)
	}
	if c.Domain != "" {
		text += " in " + c.Domain
	}
	return text
}

// opinionsText prints what one policy says of the live node and of the shadow's.
func opinionsText(live, would client.ShadowOpinion) string {
	one := func(o client.ShadowOpinion) string {
		if o.Loss != nil {
			text := fmt.Sprintf("%.6g", *o.Loss)
			if o.Tier > 0 {
				text += fmt.Sprintf(" (tier %d)", o.Tier)
			}
			return text
		}
		return cmp.Or(o.Refused, "?")
	}
	return one(live) + " / " + one(would)
}
