package main

const intro = `# Results on the openb trace

This page is written by ` + "`make openb`" + ` from runs of ` + "`poise sim compare`" + `; nothing in it is typed by hand.
Trace: Alibaba cluster-trace-gpu-v2023 ("openb"), 1,213 nodes with 6,212 GPUs. Published results: Weng et al., *Beware of
Fragmentation*, USENIX ATC 2023, as run by its authors' simulator (6 policies, 17 workloads, seeds 42 to 51).
Figures are GPU allocation in percent of the fleet, by the published metric.
`

const againstIntro = `
## The default policy against the published FGD

Means of seeds 42 to 51 at 100 % / 130 % arrivals. The last column leaves out the seeds on which constants were chosen.

| workload | FGD published | idle-balance | difference | seeds 45-51 alone |
|---|---|---|---|---|
`

const unseenIntro = `
Workloads for which nothing was published, and on which nothing was chosen, against the reproduced baselines:

| workload | best-fit | fgd | idle-balance | minus fgd |
|---|---|---|---|---|
`

const replayIntro = `
## Replay with arrivals, run times and departures

The full fleet never contends, so the node list is thinned (every 10th, 20th or 7th node of each make) and the jobs of the
default workload are run several times over, each copy shifted by up to 24 h. Queue in arrival order with skip-over, no
reservation. Measured from t = 10,000,000 s to the last arrival. Per policy: mean wait in s / p99 wait in s / mean GPU
allocation in % / jobs that still wait at the end; means of seeds 42 to 45; a job that still waits counts up to the end.

| nodes, load | best-fit | fgd | idle-balance-spread | idle-balance |
|---|---|---|---|---|
`

const replayReading = `
Where it loses: at loads around 70 % best-fit waits least, and idle-balance keeps jobs that need whole nodes waiting: long
tasks sit on every large node and no score can undo that; the answer is a reservation in the queue. Above 80 % best-fit
collapses and idle-balance waits least or close to it.
`
