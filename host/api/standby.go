package api

import (
	"encoding/json"
	"net/http"

	"github.com/poise-sched/poise/host/api/client"
	"github.com/poise-sched/poise/host/poise"
)

// Standby gives what a replica answers that does not lead: that it is well, and ready
// to take over, and to all else why it does not answer.
func Standby(why func() string, version string) http.Handler {
	mux := http.NewServeMux()
	well := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(client.Health{Standby: true, Version: version}) // the caller is gone, or it arrives
	}
	mux.HandleFunc("GET /healthz", well)
	mux.HandleFunc("GET /readyz", well)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusServiceUnavailable, poise.Unavailable, why()))
	})
	return mux
}
