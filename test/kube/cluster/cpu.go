package cluster

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// processorTime reads what a process has used, to the hundredth of a second.
func processorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	// The second field is a name in brackets and may hold anything.
	_, fields, _ := strings.Cut(string(stat), ") ")
	var state string
	var skip, user, system int64
	if _, err := fmt.Sscan(fields, &state, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &user, &system); err != nil {
		return 0, fmt.Errorf("read the processor time in %q: %w", stat, err)
	}
	return time.Duration(user+system) * (time.Second / 100), nil
}
