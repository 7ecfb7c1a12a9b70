// Packs: the node that is fullest with the job on it, by weight of cpu, memory
// and gpu, and none that already runs max_tasks tasks.
#define POISE_NAME "binpack"
#define POISE_VERSION "1.0.0"
#define POISE_DESCRIPTION "the node that is fullest with the job on it, with a limit of tasks a node"
#define POISE_ROW_PURE
#define POISE_LOSS_RANGE 0, 1
#define POISE_DIMENSIONS(D) D(cpu, "cpu") D(memory, "memory") D(gpu, "gpu")
#define POISE_COLUMNS(C) C(tasks, running_tasks)
#define POISE_PARAMS(P) \
	P(cpu, f64, POISE_DEFAULT(1) POISE_MIN(0) POISE_MAX(1000)) \
	P(memory, f64, POISE_DEFAULT(1) POISE_MIN(0) POISE_MAX(1000)) \
	P(gpu, f64, POISE_DEFAULT(1) POISE_MIN(0) POISE_MAX(1000)) \
	P(max_tasks, i64, POISE_DEFAULT(0) POISE_MIN(0))
#define POISE_REASONS(R) R(1, most_tasks, "node has its most tasks")
#include "poise.h"

POISE_FILTER(c, reasons) {
	const uint32_t *tasks = c->tasks, rows = c->rows;
	const int64_t most = c->param.max_tasks;
	// A node cannot have more tasks than 32 bits hold.
	const uint32_t limit = most == 0 || most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
	for (uint32_t r = 0; r < rows; r++)
		reasons[r] = tasks[r] >= limit ? reason_most_tasks : reason_none;
}

// What to divide by on a node that does not have the dimension: it counts as the
// fleet's largest node, empty. 1 where no node has it.
static double unit(const poise_dimension *d) { return d->fleet_max > 0 ? d->fleet_max : 1; }

// The part of a node's dimension in use with the job on it.
static inline double used(const poise_dimension *d, double unit, uint32_t r) {
	double part = (d->allocated[r] + d->request) / (d->capacity[r] > 0 ? d->capacity[r] : unit);
	return part < 1 ? part : 1;
}

POISE_SCORE(c, loss) {
	const poise_dimension cpu = c->cpu, memory = c->memory, gpu = c->gpu;
	const double of_cpu = cpu.fleet_max > 0 ? c->param.cpu : 0;
	const double of_memory = memory.fleet_max > 0 ? c->param.memory : 0;
	const double of_gpu = gpu.request > 0 ? c->param.gpu : 0;
	const double cpu_unit = unit(&cpu), memory_unit = unit(&memory), gpu_unit = unit(&gpu);
	const double sum = of_cpu + of_memory + of_gpu, total = sum > 0 ? sum : 1;
	const uint32_t rows = c->rows;

	for (uint32_t r = 0; r < rows; r++) {
		double in_use = of_cpu * used(&cpu, cpu_unit, r) + of_memory * used(&memory, memory_unit, r) + of_gpu * used(&gpu, gpu_unit, r);
		loss[r] = 1 - in_use / total;
	}
}
