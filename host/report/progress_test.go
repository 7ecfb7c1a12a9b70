package report

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressLine(t *testing.T) {
	f := func(done, total int, elapsed time.Duration, want string) {
		t.Helper()
		p := &Progress{total: total}
		p.done.Store(int64(done))
		if got := p.line(elapsed); got != want {
			t.Errorf("%d of %d after %s shows %q, expected %q", done, total, elapsed, got, want)
		}
	}
	f(0, 8, 0, "0/8 [>                             ]   0 %  0:00  0/s")
	f(3, 170, 30*time.Second, "  3/170 [>                             ]   2 %  0:30  0.1/s  27:50 left")
	f(1, 4, 90*time.Second, "1/4 [=======>                      ]  25 %  1:30  0.7/min  4:30 left")
	f(85, 170, 2*time.Second, " 85/170 [===============>              ]  50 %  0:02  42/s  0:02 left")
	f(170, 170, 3700*time.Second, "170/170 [==============================] 100 %  1:01:40  2.8/min")
	f(9, 8, time.Second, "9/8 [==============================] 100 %  0:01  9.0/s")
	f(5, 0, time.Second, "5  0:01  5.0/s")
}

// Fake time: the bar appears at the first redraw and ends its line.
func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := NewProgress(&b, true, 2)
		p.Step()
		time.Sleep(redrawEvery + time.Millisecond)
		p.Step()
		p.Done()
		p.Done()
		time.Sleep(time.Minute)
		frames := strings.Split(b.String(), "\r")
		if len(frames) != 3 || !strings.HasPrefix(frames[1], "1/2 [") || !strings.HasPrefix(frames[2], "2/2 [") || !strings.HasSuffix(frames[2], "\x1b[K\n") {
			t.Errorf("printed %q, expected two frames and a line end", b.String())
		}
	})
}

func TestProgressIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(terminal bool, work time.Duration) {
			t.Helper()
			var b strings.Builder
			p := NewProgress(&b, terminal, 100)
			var group sync.WaitGroup
			for range 100 {
				group.Go(p.Step)
			}
			group.Wait()
			time.Sleep(work)
			p.Done()
			if b.Len() > 0 {
				t.Errorf("printed %q, expected nothing", b.String())
			}
			if n := p.done.Load(); n != 100 {
				t.Errorf("%d steps counted, expected 100", n)
			}
		}
		f(false, time.Hour)
		f(true, redrawEvery/2) // over before the first redraw
	})
}
