package config

import (
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// parseSpan reads a duration as Go writes it, such as 1m30s, or whole days, such
// as 30d.
func parseSpan(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, ok := parseWhole(days)
		if !ok || n < 0 || n > maxDays {
			return 0, false
		}
		return time.Duration(n) * day, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// maxDays is what fits into a time.Duration.
const maxDays = 100_000

// printSpan gives a text that parses to d, without the zeros of Go's 10m0s.
func printSpan(d time.Duration) string {
	if d >= day && d%day == 0 && d/day <= maxDays {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
