// The equal-work policy of the benchmark, in C. README.md has the formula.
#define POISE_NAME "score"
#define POISE_VERSION "1.0.0"
#define POISE_ROW_PURE
#define POISE_DIMENSIONS(D) D(cpu, "cpu") D(memory, "memory") D(storage, "storage") D(gpu, "gpu")
#define POISE_COLUMNS(C) C(class, class)
#define POISE_LABELS(L) L(zone, "zone")
#define POISE_PARAMS(P) P(zone, symbol, POISE_DEFAULT("a")) P(class, i64, POISE_DEFAULT(1) POISE_MIN(0) POISE_MAX(4294967295))
#include "poise.h"

static double scale(const poise_dimension *d, double weight) { return d->fleet_max > 0 ? weight / d->fleet_max : 0; }

// either is yes where flag is 1, else no, without a branch: the engine makes one
// of a scalar select, and clang one of a plain ?: here.
static double either(int flag, double yes, double no) {
#ifdef __wasm_simd128__
	return flag ? yes : no;
#else
	uint64_t mask = -(uint64_t)flag, a, b;
	__asm__("" : "+r"(mask)); // or clang turns it into a select again
	__builtin_memcpy(&a, &yes, 8);
	__builtin_memcpy(&b, &no, 8);
	a = (a & mask) | (b & ~mask);
	__builtin_memcpy(&no, &a, 8);
	return no;
#endif
}

POISE_SCORE(c, loss) {
	const poise_dimension cpu = c->cpu, memory = c->memory, storage = c->storage, gpu = c->gpu;
	const double cpu_scale = scale(&cpu, 0.4), memory_scale = scale(&memory, 0.3);
	const double storage_scale = scale(&storage, 0.1), gpu_scale = scale(&gpu, 0.2);
	const poise_symbol *zone = c->zone, *class = c->class;
	const uint32_t rows = c->rows, wanted_zone = c->param.zone.id, wanted_class = (uint32_t)c->param.class;

#ifdef __wasm_simd128__
#pragma clang loop interleave_count(2)
#endif
	for (uint32_t r = 0; r < rows; r++) {
		double left0 = cpu.capacity[r] - cpu.allocated[r] - cpu.request;
		double left1 = memory.capacity[r] - memory.allocated[r] - memory.request;
		double left2 = storage.capacity[r] - storage.allocated[r] - storage.request;
		double left3 = gpu.capacity[r] - gpu.allocated[r] - gpu.request;
		double sum = left0 * cpu_scale + left1 * memory_scale + left2 * storage_scale + left3 * gpu_scale;
		sum += 0.25 * (zone[r].id != wanted_zone);
		sum += 0.125 * (class[r].id != wanted_class);
		int short_of = (left0 < 0) | (left1 < 0) | (left2 < 0) | (left3 < 0); // no short-circuits, no branches
		loss[r] = either(short_of, 1e9, sum);
	}
}
