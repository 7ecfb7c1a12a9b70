package score

import poise "github.com/poise-sched/poise/abi/guest/go"

var call poise.Call

//go:wasmexport poise_score
func export(table, job, out uint32) uint32 {
	defer poise.EndOnPanic()
	call.Open(nil, table, job, out)
	call.Score(exported)
	return 0
}
