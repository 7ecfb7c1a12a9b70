package queue

import (
	"fmt"

	"github.com/poise-sched/poise/host/poise"
)

// Units of poise.Span.
const (
	second = 1000
	minute = 60 * second
	day    = 24 * 60 * minute
)

// Settings are the times that a Queue goes by. Defaults gives good ones; a zero
// field is refused, not replaced.
type Settings struct {
	// Step is how long a job has to wait to outweigh one level of priority,
	// 1 ms to 24 h.
	Step poise.Span
	// Sweep is the longest time that a job stays parked without being tried
	// again, 1 s to 24 h.
	Sweep poise.Span
	// RetryBase and RetryMax bound the delay after a failed attempt to bind:
	// RetryBase after the first, twice as much after each further one, RetryMax
	// at the most. RetryBase is 1 ms to RetryMax, RetryMax at most 24 h.
	RetryBase, RetryMax poise.Span
}

// Defaults are a step of 10 minutes, a sweep each minute and retries after 1 s
// to 5 minutes.
func Defaults() Settings {
	return Settings{Step: 10 * minute, Sweep: minute, RetryBase: second, RetryMax: 5 * minute}
}

// Validate names the first setting that is out of its range.
func (s *Settings) Validate() error {
	if err := within("step", s.Step, 1, day); err != nil {
		return err
	}
	if err := within("sweep", s.Sweep, second, day); err != nil {
		return err
	}
	if err := within("retry max", s.RetryMax, 1, day); err != nil {
		return err
	}
	return within("retry base", s.RetryBase, 1, s.RetryMax)
}

func within(field string, v, low, high poise.Span) error {
	if v < low || v > high {
		return &poise.Error{
			Kind: poise.Invalid, Op: "queue settings",
			Detail: fmt.Sprintf("%s: %d ms, expected %d to %d", field, v, low, high),
		}
	}
	return nil
}
