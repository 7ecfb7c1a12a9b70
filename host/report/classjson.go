package report

import (
	"encoding/json"
	"io"

	"github.com/poise-sched/poise/host/model"
	"github.com/poise-sched/poise/host/poise"
)

// classFile is the JSON of a model and its nodes.
type classFile struct {
	K              int                      `json:"k"`
	Points         int                      `json:"points"`
	Resolution     float64                  `json:"resolution"`
	WeightExponent float64                  `json:"weight_exponent"`
	Features       []string                 `json:"features"`
	Eigenvalues    []float64                `json:"eigenvalues"`
	Classes        []classEntry             `json:"classes"`
	Nodes          map[string]model.ClassID `json:"nodes"`
}

type classEntry struct {
	ID         model.ClassID       `json:"id"`
	Name       string              `json:"name"`
	Pinned     bool                `json:"pinned,omitempty"`
	Nodes      int                 `json:"nodes"`
	Share      float64             `json:"share"`
	Capacity   map[string]interval `json:"capacity"`
	Devices    []deviceEntry       `json:"devices"`
	GiBPerCore float64             `json:"gib_per_core"`
	Apart      string              `json:"apart"`
}

type interval struct {
	Lo int64 `json:"lo"`
	Hi int64 `json:"hi"`
}

type deviceEntry struct {
	Kind  string `json:"kind"`
	Model string `json:"model"`
	interval
}

// ClassJSON writes a model and the class of each node as one JSON object:
// amounts in base units (milli-cores, bytes), classes the largest first, 0 for a
// node without a class.
func ClassJSON(w io.Writer, m *model.Model, nodes []poise.Node) error {
	file := classFile{
		K: m.K, Points: len(m.Points), Resolution: m.Settings.Resolution, WeightExponent: m.Settings.WeightExponent, Features: m.Settings.Features,
		Eigenvalues: append([]float64{}, m.Eigenvalues...), Classes: []classEntry{}, Nodes: make(map[string]model.ClassID, len(nodes)),
	}
	for _, c := range classesOf(m) {
		entry := classEntry{
			ID: c.ID, Name: c.Name, Pinned: c.Pinned, Nodes: c.Nodes, Share: c.share,
			Capacity: map[string]interval{}, Devices: []deviceEntry{}, GiBPerCore: c.Ratio, Apart: c.apart,
		}
		for _, r := range c.Capacity {
			entry.Capacity[r.Name] = interval{r.Lo, r.Hi}
		}
		for _, d := range c.Devices {
			entry.Devices = append(entry.Devices, deviceEntry{d.Kind, d.Model, interval{int64(d.Lo), int64(d.Hi)}})
		}
		file.Classes = append(file.Classes, entry)
	}
	for i := range nodes {
		file.Nodes[nodes[i].Name] = m.Assign(&nodes[i]).Class
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(&file)
}
