package cli

import (
	"fmt"

	"github.com/poise-sched/poise/host/api/client"
)

// gangText says which member of which gang a job is.
func gangText(g *client.GangSpec) string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf("%s %d/%d", g.Name, g.Index, g.Size)
}
