package node

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// GPU is a device as the driver knows it.
type GPU struct {
	Index     int // of the driver, in the order of the PCI bus
	UUID      string
	Model     string // such as A100-SXM4-80GB
	MemoryMiB int64  // 0 = not told
}

// askGPU is how long nvidia-smi gets: it hangs when the driver does.
const askGPU = 10 * time.Second

// gpus asks nvidia-smi. A machine without that program has none.
func (m source) gpus(ctx context.Context, d *Description) []GPU {
	ctx, cancel := context.WithTimeout(ctx, askGPU)
	defer cancel()
	out, err := m.run(ctx, "nvidia-smi", "--query-gpu=index,uuid,name,memory.total,mig.mode.current", "--format=csv,noheader,nounits")
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		d.note("gpu", "nvidia-smi: %v: %q; none is offered", err, firstLine(out))
		return nil
	}
	all, notes, err := parseGPUs(string(out))
	if err != nil {
		d.note("gpu", "nvidia-smi: %v; none is offered", err)
		return nil
	}
	d.Notes = append(d.Notes, notes...)
	return all
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// parseGPUs reads a line for each GPU: index, UUID, name, memory in MiB, MIG mode.
// One that is split into MIG instances cannot be used as a whole and is left out.
func parseGPUs(text string) ([]GPU, []Note, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace, r.FieldsPerRecord, r.LazyQuotes = true, 5, true
	var all []GPU
	var notes []Note
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, notes, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		index, err := strconv.ParseUint(fields[0], 10, 16)
		if err != nil {
			return nil, nil, fmt.Errorf("index: %q, expected a number", fields[0])
		}
		g := GPU{Index: int(index), UUID: fields[1], Model: modelOf(fields[2])}
		if g.Model == "" || g.UUID == "" {
			return nil, nil, fmt.Errorf("gpu %d: uuid %q and name %q, expected both", index, fields[1], fields[2])
		}
		if mib, err := strconv.ParseInt(fields[3], 10, 32); err == nil && mib > 0 { // [N/A] where memory is shared with the CPU
			g.MemoryMiB = mib
		}
		if fields[4] == "Enabled" {
			notes = append(notes, Note{"gpu", fmt.Sprintf("%s %s is not offered: it is split into MIG instances", g.Model, g.UUID)})
			continue
		}
		all = append(all, g)
	}
}

// modelOf makes a name without spaces of "NVIDIA A100-SXM4-80GB", as people write
// it in a job.
func modelOf(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r > unicode.MaxASCII })
	if len(words) > 1 && words[0] == "NVIDIA" {
		words = words[1:]
	}
	model := strings.Join(words, "-")
	return model[:min(len(model), longestModel)]
}

// longestModel is far more than any model's name has.
const longestModel = 100
