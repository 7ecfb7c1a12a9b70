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
tasks sit on every large node and no score can undo that. Above 80 % best-fit collapses and idle-balance waits least or close
to it.

The table is of --reservations 0. A replay and the daemon have 1 by default; with it the same commands give for 58 nodes:

| nodes, load | best-fit | fgd | idle-balance-spread | idle-balance |
|---|---|---|---|---|
| 58, x5 (60 %) | 0 / 0 / 59.8 / 0 | 186 / 0 / 59.7 / 8 | 1213 / 0 / 57.7 / 44 | 75 / 0 / 59.8 / 0 |
| 58, x6 (72 %) | 46 / 320 / 71.7 / 0 | 907 / 29 / 71.2 / 20 | 2144 / 0 / 65.5 / 59 | 665 / 0 / 70.5 / 38 |
| 58, x7 (84 %) | 3870 / 36518 / 80.8 / 62 | 1491 / 2715 / 77.7 / 61 | 1933 / 3670 / 76.9 / 67 | 981 / 3476 / 78.6 / 64 |

At 72 and 84 % the mean wait is 7 to 32 % shorter, but for idle-balance-spread at 72 %, where it is 4 % longer. The p99 wait is longer
where it is not 0, but for best-fit at 84 %. One reservation is no cure for long tasks on every large node.
`
