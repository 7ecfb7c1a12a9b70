package poise

// Time is a moment in milliseconds: since the Unix epoch in the daemon, since
// the start of the run in a simulation. The core never reads a clock; a Time
// always comes in with an event or an argument.
type Time int64

// Span is a length of time in milliseconds.
type Span int64

// Seconds gives the span in seconds, for reports.
func (s Span) Seconds() float64 { return float64(s) / 1000 }
