package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	redrawEvery = 200 * time.Millisecond
	barWidth    = 30
)

// Progress is the bar of a long work on a terminal: done and total, elapsed
// time, rate and time left. Anywhere else it prints nothing. Work that is over
// before the first redraw shows no bar at all. Its methods may be called from
// several goroutines.
type Progress struct {
	out   io.Writer
	total int
	began time.Time
	done  atomic.Int64
	stop  chan struct{} // nil where nothing is printed
	over  chan struct{}
	once  sync.Once
}

// NewProgress begins the bar of a work of total steps. terminal says whether w
// is one; who begins a Progress must call Done.
func NewProgress(w io.Writer, terminal bool, total int) *Progress {
	p := &Progress{out: w, total: total, began: time.Now()}
	if terminal {
		p.stop, p.over = make(chan struct{}), make(chan struct{})
		go p.draw()
	}
	return p
}

// Step counts one step done.
func (p *Progress) Step() { p.done.Add(1) }

// Done ends the bar, and its line if it has one. Nothing is printed afterwards.
func (p *Progress) Done() {
	if p.stop == nil {
		return
	}
	p.once.Do(func() { close(p.stop) })
	<-p.over
}

// draw repaints the line until Done. A terminal that cannot be written to is
// no reason to stop the work.
func (p *Progress) draw() {
	defer close(p.over)
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	shown := false
	for {
		select {
		case <-ticker.C:
			shown = true
			fmt.Fprintf(p.out, "\r%s\x1b[K", p.line(time.Since(p.began)))
		case <-p.stop:
			if shown {
				fmt.Fprintf(p.out, "\r%s\x1b[K\n", p.line(time.Since(p.began)))
			}
			return
		}
	}
}

// line is the bar after so much time.
func (p *Progress) line(elapsed time.Duration) string {
	done, total := int(p.done.Load()), p.total
	rate := 0.0
	if s := elapsed.Seconds(); s > 0 {
		rate = float64(done) / s
	}
	if total <= 0 {
		return fmt.Sprintf("%d  %s  %s", done, clock(elapsed), rateText(rate))
	}
	part := min(float64(done)/float64(total), 1)
	full := int(part * barWidth)
	bar := strings.Repeat("=", full)
	if full < barWidth {
		bar += ">" + strings.Repeat(" ", barWidth-full-1)
	}
	text := fmt.Sprintf("%*d/%d [%s] %3.0f %%  %s  %s", len(fmt.Sprint(total)), done, total, bar, 100*part, clock(elapsed), rateText(rate))
	if done > 0 && done < total {
		text += "  " + clock(time.Duration(float64(elapsed)/float64(done)*float64(total-done))) + " left"
	}
	return text
}

func rateText(perSecond float64) string {
	switch {
	case perSecond >= 10 || perSecond == 0:
		return fmt.Sprintf("%.0f/s", perSecond)
	case perSecond >= 0.1:
		return fmt.Sprintf("%.1f/s", perSecond)
	}
	return fmt.Sprintf("%.1f/min", 60*perSecond)
}

// clock prints minutes and seconds, with hours where there are any.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
