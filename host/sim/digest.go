package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
)

// digest is the SHA-256 over one line per attempt, in the order of attempts:
// job name, tab, node name or "-", tab, device indexes joined by commas. Two
// runs with one digest made the same decisions.
type digest struct {
	sum hash.Hash
	buf []byte
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) add(name string, decision *poise.Decision) {
	b := append(append(d.buf[:0], name...), '\t')
	if decision.Verdict == poise.Placed {
		b = append(b, decision.Node...)
	} else {
		b = append(b, '-')
	}
	b = append(b, '\t')
	for i, device := range decision.Devices {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(device), 10)
	}
	d.buf = append(b, '\n')
	d.sum.Write(d.buf)
}

func (d *digest) hex() string { return hex.EncodeToString(d.sum.Sum(nil)) }
