package state

import (
	"fmt"
	"testing"

	"github.com/poise-sched/poise/host/poise"
)

// BenchmarkMoment takes down a state in which so many jobs of 64 shapes wait: that is
// how long the loop is held for a plan or a snapshot of the store. The image is made
// of it beside the loop.
func BenchmarkMoment(b *testing.B) {
	for _, jobs := range []int{100_000, 1_000_000} {
		d := fleet(b, 1_000)
		for i := range jobs {
			d.apply(b, poise.JobSubmitted{Job: benchJob(i)})
		}
		b.Run(fmt.Sprintf("take/jobs=%d", jobs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Moment()
			}
		})
		b.Run(fmt.Sprintf("image/jobs=%d", jobs), func(b *testing.B) {
			m := d.Moment()
			b.ReportAllocs()
			for b.Loop() {
				m.Image()
			}
		})
	}
}
