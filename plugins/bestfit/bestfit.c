// BestFit of Weng et al. (USENIX ATC 2023): the node with the least left after
// the placement. The operations and their order are those of Poise's own
// best-fit, so that the losses are the same bit for bit.
#define POISE_NAME "bestfit"
#define POISE_VERSION "1.0.0"
#define POISE_DESCRIPTION "the node with the least cpu and gpu left after the placement"
#define POISE_ROW_PURE
#define POISE_DIMENSIONS(D) D(cpu, "cpu")
#define POISE_COLUMNS(C) C(gpus, devices)
#define POISE_PARAMS(P) \
	P(cpu_max, f64, POISE_DEFAULT(128000) POISE_MIN(1)) \
	P(devices_max, f64, POISE_DEFAULT(8000) POISE_MIN(1))
#include "poise.h"

POISE_SCORE(c, loss) {
	const double *capacity = c->cpu.capacity, *allocated = c->cpu.allocated;
	const double cpu = c->cpu.request, cpu_max = c->param.cpu_max, devices_max = c->param.devices_max;
	const double devices = (double)c->job.device_count * (double)c->job.device_milli;
	const uint32_t rows = c->rows;

	// Two passes: with its integers apart, the second one is all doubles and the
	// compiler does two rows at a time.
	for (uint32_t r = 0; r < rows; r++)
		loss[r] = (double)poise_free_total(c->gpus, r);
	for (uint32_t r = 0; r < rows; r++) {
		double idle = capacity[r] - allocated[r];
		idle = idle > 0 ? idle : 0;
		double y = (idle - cpu) / cpu_max * 0.5 + (loss[r] - devices) / devices_max * 0.5;
		loss[r] = 100 - __builtin_trunc((1 - y) * 100);
	}
}
