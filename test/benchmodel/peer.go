package main

import (
	"bufio"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/poise-sched/poise/host/poise"
	"github.com/poise-sched/poise/test/fleets"
)

//go:embed peer.py
var peerSource string

// peer is a process that clusters with scikit-learn and waits for more.
type peer struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// newPeer starts the peer, or gives nil where no python3 has scikit-learn. The
// system's own comes first: that is where Debian's package goes.
func newPeer() (*peer, error) {
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import sklearn").Run() != nil {
			continue
		}
		c := exec.Command(python, "-c", peerSource)
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		return &peer{command: c, in: in, out: bufio.NewReader(out)}, c.Start()
	}
	return nil, nil
}

// stop ends the process.
func (p *peer) stop() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	return p.command.Wait()
}

// cluster gives the time of one clustering into k classes by a graph of so many
// nearest neighbours, that of handing over the features left out, and each row's
// class.
func (p *peer) cluster(features [][]float64, k, neighbours int) (time.Duration, []int, error) {
	data := fmt.Appendf(nil, "%d %d %d %d\n", len(features), len(features[0]), k, neighbours)
	for _, row := range features {
		for _, x := range row {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
	}
	if _, err := p.in.Write(data); err != nil {
		return 0, nil, fmt.Errorf("write to scikit-learn: %w", err)
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, nil, fmt.Errorf("read from scikit-learn: %w", err)
	}
	words := strings.Fields(line)
	if len(words) != 1+len(features) {
		return 0, nil, fmt.Errorf("answer of scikit-learn: %d words, expected %d", len(words), 1+len(features))
	}
	seconds, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		return 0, nil, fmt.Errorf("answer of scikit-learn: time: %w", err)
	}
	labels := make([]int, len(features))
	for i := range labels {
		if labels[i], err = strconv.Atoi(words[1+i]); err != nil {
			return 0, nil, fmt.Errorf("answer of scikit-learn: label: %w", err)
		}
	}
	return time.Duration(seconds * float64(time.Second)), labels, nil
}

// featuresOf gives what the model sees of the nodes: resources on a log scale,
// in octaves. Device models are columns so far apart that no node of another one
// is among a node's nearest neighbours.
func featuresOf(f *fleets.Fleet) [][]float64 {
	const far = 16
	column := map[string]int{}
	for _, s := range f.Shapes {
		if _, ok := column[s.Model]; !ok {
			column[s.Model] = 5 + len(column)
		}
	}
	octaves := func(n *poise.Node, name string, unit float64) float64 {
		amount, _ := n.Capacity.Find(name)
		return math.Log2(1 + float64(amount)/unit)
	}
	rows := make([][]float64, len(f.Nodes))
	for i := range f.Nodes {
		n := &f.Nodes[i]
		rows[i] = make([]float64, 5+len(column))
		copy(rows[i], []float64{
			octaves(n, "cpu", 1000), octaves(n, "memory", gib), octaves(n, "storage", gib), octaves(n, "bandwidth", 1e12),
			math.Log2(1 + float64(n.Devices.Count)),
		})
		rows[i][column[n.Devices.Model]] = far
	}
	return rows
}

const gib = 1 << 30
