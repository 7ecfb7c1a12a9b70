package client

import (
	"time"

	"github.com/poise-sched/poise/host/poise"
)

// At gives a moment as it goes over the wire; 0 is the zero time, which JSON
// leaves out.
func At(t poise.Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}

// Moment is what At made a time of.
func Moment(t time.Time) poise.Time {
	if t.IsZero() {
		return 0
	}
	return poise.Time(t.UnixMilli())
}

// timeText prints a moment; "" where it is 0, which is none.
func timeText(t poise.Time) string {
	if t == 0 {
		return ""
	}
	return At(t).Format(time.RFC3339Nano)
}

// SpanText prints a length of time; "" where it is 0, which is none.
func SpanText(s poise.Span) string {
	if s == 0 {
		return ""
	}
	return (time.Duration(s) * time.Millisecond).String()
}
