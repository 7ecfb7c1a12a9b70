// Poise guest SDK for C11: one header, no dependency, no heap.
//
// A policy is one source file. It declares what it reads as lists, includes this
// header, and writes POISE_FILTER, POISE_SCORE or both:
//
//	#define POISE_NAME "tight"
//	#define POISE_VERSION "1.0.0"
//	#define POISE_ROW_PURE
//	#define POISE_DIMENSIONS(D) D(cpu, "cpu")
//	#define POISE_PARAMS(P) P(weight, f64, POISE_DEFAULT(1) POISE_MIN(0))
//	#include "poise.h"
//
//	POISE_SCORE(c, loss) {
//		for (uint32_t r = 0; r < c->rows; r++)
//			loss[r] = c->param.weight * (c->cpu.capacity[r] - c->cpu.allocated[r]);
//	}
//
// From the lists come the manifest (static data) and the members of poise_call:
//
//	POISE_DIMENSIONS(D)  D(member, "dimension")     c->member.capacity[r], .allocated[r], .request, .fleet_sum, .fleet_max
//	POISE_COLUMNS(C)     C(member, kind)            c->member[r]; kinds: class, taints, selectors, running_tasks,
//	                                                tenant_tasks, job_tasks, age, device_model
//	                     C(member, devices)         c->member is a poise_devices
//	                     C(member, devices, ":npu") the same of another resource than gpu; so too device_model
//	POISE_LABELS(L)      L(member, "key")           c->member[r], a poise_symbol
//	POISE_DOMAINS(D)     D(member, "key")           c->domain.member, a poise_domain
//	POISE_PARAMS(P)      P(member, type, options)   c->param.member; types: f64, i64, bool, symbol, enum
//	POISE_REASONS(R)     R(code, name, "text")      reason_name, codes 1 to 255
//	POISE_JOB_FIELDS(F)  F(field)                   c->job.field; fields: priority, tasks, task_index, tenant, run_time, seed
//
// Flags: POISE_ROW_PURE, POISE_CHOOSES_DEVICES, POISE_WANTS_PROFILE. Texts:
// POISE_NAME, POISE_VERSION, POISE_DESCRIPTION, POISE_TIE. POISE_LOSS_RANGE is
// two numbers. Options of a parameter: POISE_DEFAULT(v), POISE_MIN(v),
// POISE_MAX(v), POISE_VALUES("a", "b"). Numbers are written as in JSON: 0.5.
//
// Without __wasm__ the same source compiles natively; poise_test.h then builds
// tables in ordinary memory and calls the functions on them.
#ifndef POISE_H
#define POISE_H

#include <stdint.h>
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

#if !defined(POISE_NAME) || !defined(POISE_VERSION)
#error "define POISE_NAME and POISE_VERSION before poise.h"
#endif
#ifndef POISE_DIMENSIONS
#define POISE_DIMENSIONS(D)
#endif
#ifndef POISE_COLUMNS
#define POISE_COLUMNS(C)
#endif
#ifndef POISE_LABELS
#define POISE_LABELS(L)
#endif
#ifndef POISE_DOMAINS
#define POISE_DOMAINS(D)
#endif
#ifndef POISE_PARAMS
#define POISE_PARAMS(P)
#endif
#ifndef POISE_REASONS
#define POISE_REASONS(R)
#endif
#ifndef POISE_JOB_FIELDS
#define POISE_JOB_FIELDS(F)
#endif

// Options of a parameter, as they stand in the manifest.
#define POISE_DEFAULT(v) ",\"default\":" #v
#define POISE_MIN(v) ",\"min\":" #v
#define POISE_MAX(v) ",\"max\":" #v
#define POISE_VALUES(...) ",\"values\":[" #__VA_ARGS__ "]"

#ifdef __wasm__
#define POISE_EXPORT(name) __attribute__((export_name(name)))
#define POISE_AT(pointer) ((const void *)(uintptr_t)(pointer))
#else
// The harness's memory: pointers of the contract are offsets in it.
static unsigned char *poise_arena;
#define POISE_EXPORT(name)
#define POISE_AT(pointer) ((const void *)(poise_arena + (pointer)))
#endif
#define POISE_INLINE static inline __attribute__((always_inline))

// Writes a literal line to the author's terminal. It exists under poise plugin run
// and test only: a module that calls it is refused everywhere else.
#ifdef __wasm__
__attribute__((import_module("poise"), import_name("log"))) void poise_log(const char *text, uint32_t length);
#else
#include <stdio.h>
static inline void poise_log(const char *text, uint32_t length) { fprintf(stderr, "%.*s\n", (int)length, text); }
#endif
#define POISE_LOG(text) poise_log(text, sizeof(text) - 1)

// A text as a number: two are equal if and only if the texts are. 0 is the
// absent text. It is a struct so that it is not taken for an amount.
typedef struct {
	uint32_t id;
} poise_symbol;

POISE_INLINE int poise_same(poise_symbol a, poise_symbol b) { return a.id == b.id; }
POISE_INLINE int poise_absent(poise_symbol s) { return s.id == 0; }

// One dimension: two columns, and its amounts in the job and the fleet, in base
// units. What a node, the job or the fleet does not have is 0.
typedef struct {
	const double *capacity, *allocated;
	double request, fleet_sum, fleet_max;
} poise_dimension;

// The free milli-devices of every row: slots of them a row, 0 beyond the node's.
typedef struct {
	const uint16_t *free;
	uint32_t slots;
} poise_devices;

// What the job asks for in devices, and its declared fields.
typedef struct {
	uint32_t device_count; // 0 = none
	uint32_t device_milli; // on each; 1000 = whole devices
	poise_symbol device_kind;
	uint32_t model_count; // 0 = any model
	const poise_symbol *models;
	uint32_t selectors;
#define POISE_FIELD_priority int64_t
#define POISE_FIELD_tasks int64_t
#define POISE_FIELD_task_index int64_t
#define POISE_FIELD_tenant poise_symbol
#define POISE_FIELD_run_time int64_t // milliseconds, 0 = not declared
#define POISE_FIELD_seed uint64_t
#define POISE_X(field) POISE_FIELD_##field field;
	POISE_JOB_FIELDS(POISE_X)
#undef POISE_X
} poise_job;

// One value of a domain's key, counted over the whole fleet.
typedef struct {
	poise_symbol value;
	uint32_t nodes, tenant_tasks, job_tasks;
	double amounts[]; // capacity per dimension, then allocated per dimension
} poise_domain_value;

// One key of the domains.
typedef struct {
	uint32_t count, values, stride; // of poise_domain_value, see poise_domain_at
	uint32_t absent;                // nodes without the label
	uint32_t min_tenant_tasks, max_tenant_tasks, min_job_tasks, max_job_tasks, min_nodes, max_nodes;
	uint32_t zero[2];
} poise_domain;

// One kind of task that jobs have been asking for.
typedef struct {
	double count, weight; // weight = count x (1 + devices asked for)
	uint32_t device_count, device_milli, model_count, models;
	double request[]; // per dimension
} poise_shape;

// The profile. Without POISE_WANTS_PROFILE it is not there (a null pointer).
typedef struct {
	uint64_t epoch;
	double total_count, total_weight;
	uint32_t count, stride, shapes; // of poise_shape, see poise_shape_at
} poise_profile;

// Numbers of the declared names: dim_cpu indexes amounts[] and request[].
enum {
#define POISE_X(member, text) dim_##member,
	POISE_DIMENSIONS(POISE_X) poise_dims,
#undef POISE_X
};
enum {
#define POISE_X(member, text) poise_capacity_##member, poise_allocated_##member,
	POISE_DIMENSIONS(POISE_X)
#undef POISE_X
#define POISE_X(member, ...) poise_column_##member,
		POISE_COLUMNS(POISE_X) poise_first_label,
	poise_before_labels = poise_first_label - 1,
	POISE_LABELS(POISE_X) poise_columns,
#undef POISE_X
};
enum {
#define POISE_X(member, ...) poise_domain_##member,
	POISE_DOMAINS(POISE_X) poise_domains,
#undef POISE_X
};
enum {
#define POISE_X(member, ...) poise_param_##member,
	POISE_PARAMS(POISE_X) poise_params,
#undef POISE_X
};
enum {
#define POISE_X(field) poise_field_##field,
	POISE_JOB_FIELDS(POISE_X) poise_fields,
#undef POISE_X
};
enum {
#define POISE_X(code, name, text) poise_reason_##name,
	POISE_REASONS(POISE_X) poise_reasons,
#undef POISE_X
};
enum {
#define POISE_X(code, name, text) reason_##name = code,
	POISE_REASONS(POISE_X) reason_none = 0,
#undef POISE_X
};

// Everything that one call may look at.
typedef struct {
	uint32_t rows;
	uint32_t nodes;            // of the whole fleet
	const uint64_t *candidate; // bit r%64 of word r/64: the answer for row r is read
	poise_job job;
#define POISE_X(member, text) poise_dimension member;
	POISE_DIMENSIONS(POISE_X)
#undef POISE_X
#define POISE_KIND_class const poise_symbol * // of the name of the class, absent = none
#define POISE_KIND_taints const uint64_t *
#define POISE_KIND_selectors const uint64_t *
#define POISE_KIND_devices poise_devices
#define POISE_KIND_device_model const poise_symbol *
#define POISE_KIND_running_tasks const uint32_t *
#define POISE_KIND_tenant_tasks const uint32_t *
#define POISE_KIND_job_tasks const uint32_t *
#define POISE_KIND_age const double * // milliseconds since the node joined
#define POISE_X(member, kind, ...) POISE_KIND_##kind member;
	POISE_COLUMNS(POISE_X)
#undef POISE_X
#define POISE_X(member, text) const poise_symbol *member;
	POISE_LABELS(POISE_X)
#undef POISE_X
	struct {
		char none; // C has no empty struct
#define POISE_PARAM_f64 double
#define POISE_PARAM_i64 int64_t
#define POISE_PARAM_bool int
#define POISE_PARAM_symbol poise_symbol
#define POISE_PARAM_enum uint32_t // index into the values
#define POISE_X(member, type, options) POISE_PARAM_##type member;
		POISE_PARAMS(POISE_X)
#undef POISE_X
	} param;
	struct {
		char none;
#define POISE_X(member, text) const poise_domain *member;
		POISE_DOMAINS(POISE_X)
#undef POISE_X
	} domain;
	const poise_profile *profile;
} poise_call;

// The blocks of the contract that hold pointers, as the host writes them.
typedef struct {
	uint32_t magic, minor, rows, row_capacity, columns, dims, candidate, params, fleet, domains, profile;
	uint32_t slots, descriptors, param_count, zero[2];
} poise_table_block;
typedef struct {
	uint32_t kind, data, stride, zero;
} poise_column_block;
typedef struct {
	uint32_t size, device_count, device_milli, device_kind, model_count, models, selectors;
	uint32_t field_count, fields, dims, request, zero;
} poise_job_block;
typedef struct {
	uint32_t nodes, dims, stride, list;
} poise_list_block; // the fleet; the domains have count, list, stride, dims
typedef struct {
	uint32_t values, masks, row_capacity, zero;
} poise_out_block;
#define POISE_MAGIC 0x53494F50u

// Value i of a domain's key; they are ordered by symbol.
POISE_INLINE const poise_domain_value *poise_domain_at(const poise_domain *d, uint32_t i) {
	return POISE_AT(d->values + i * d->stride);
}

// The counts of one value, a null pointer where no node has it.
static inline const poise_domain_value *poise_domain_find(const poise_domain *d, poise_symbol value) {
	uint32_t low = 0, high = d->count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (poise_domain_at(d, middle)->value.id < value.id)
			low = middle + 1;
		else
			high = middle;
	}
	const poise_domain_value *v = low < d->count ? poise_domain_at(d, low) : 0;
	return v && poise_same(v->value, value) ? v : 0;
}

// Capacity and allocated of a value's nodes in a dimension (dim_...).
POISE_INLINE double poise_domain_capacity(const poise_domain_value *v, int dim) { return v->amounts[dim]; }
POISE_INLINE double poise_domain_allocated(const poise_domain_value *v, int dim) { return v->amounts[poise_dims + dim]; }

// Shape i of the profile; they are ordered by falling count.
POISE_INLINE const poise_shape *poise_shape_at(const poise_profile *p, uint32_t i) {
	return POISE_AT(p->shapes + i * p->stride);
}

// The allowed models of a shape; model_count is 0 where any will do.
POISE_INLINE const poise_symbol *poise_shape_models(const poise_shape *s) { return POISE_AT(s->models); }

// Whether a node with devices of the model may run the job's tasks.
static inline int poise_model_allowed(const poise_job *job, poise_symbol model) {
	for (uint32_t i = 0; i < job->model_count; i++)
		if (poise_same(job->models[i], model))
			return 1;
	return job->model_count == 0;
}

POISE_INLINE int poise_is_candidate(const poise_call *c, uint32_t row) {
	return c->candidate[row / 64] >> row % 64 & 1;
}

// The free milli-devices of a row's node, by device.
POISE_INLINE const uint16_t *poise_free(poise_devices d, uint32_t row) {
	return d.free + (uintptr_t)row * d.slots;
}

#ifdef __wasm_simd128__
POISE_INLINE uint32_t poise_sum8(v128_t eight) {
	v128_t four = wasm_u32x4_extadd_pairwise_u16x8(eight);
	v128_t two = wasm_i32x4_add(four, wasm_i32x4_shuffle(four, four, 2, 3, 0, 1));
	return (uint32_t)wasm_i32x4_extract_lane(two, 0) + (uint32_t)wasm_i32x4_extract_lane(two, 1);
}
#endif

// The sum of them.
POISE_INLINE uint32_t poise_free_total(poise_devices d, uint32_t row) {
	const uint16_t *free = poise_free(d, row);
	uint32_t sum = 0, i = 0;
#ifdef __wasm_simd128__
	// The usual numbers without a loop: the compiler takes these conditions out of
	// the caller's loop over rows.
	if (d.slots == 8)
		return poise_sum8(wasm_v128_load(free));
	if (d.slots == 4)
		return poise_sum8(wasm_v128_load64_zero(free));
	for (; i + 8 <= d.slots; i += 8)
		sum += poise_sum8(wasm_v128_load(free + i));
#endif
	for (; i < d.slots; i++)
		sum += free[i];
	return sum;
}

// The devices that the host would choose: for a share the one with the least
// free amount that is enough, for whole devices the lowest free ones. 0 where
// the job asks for none or the row has too few.
static inline uint32_t poise_device_mask(poise_devices d, uint32_t row, const poise_job *job) {
	const uint16_t *free = poise_free(d, row);
	uint32_t mask = 0, taken = 0, least = UINT32_MAX;
	for (uint32_t i = 0; i < d.slots && i < 32; i++) {
		if (free[i] < job->device_milli)
			continue;
		if (job->device_milli < 1000) {
			if (free[i] < least)
				least = free[i], mask = 1u << i, taken = 1;
		} else if (taken < job->device_count) {
			mask |= 1u << i, taken++;
		}
	}
	return taken == job->device_count ? mask : 0;
}

#define POISE_READ_f64(p) (*(const double *)(p))
#define POISE_READ_i64(p) (*(const int64_t *)(p))
#define POISE_READ_u64(p) (*(const uint64_t *)(p))
#define POISE_READ_bool(p) (*(const uint64_t *)(p) != 0)
#define POISE_READ_enum(p) (*(const uint32_t *)(p))
#define POISE_READ_symbol(p) (*(const poise_symbol *)(p))
#define POISE_READ_priority POISE_READ_i64
#define POISE_READ_tasks POISE_READ_i64
#define POISE_READ_task_index POISE_READ_i64
#define POISE_READ_tenant POISE_READ_symbol
#define POISE_READ_run_time POISE_READ_i64
#define POISE_READ_seed POISE_READ_u64

// Opens the views of one call. 0 means that the blocks are not what the manifest
// asked for: then the call is declared failed. Members that a policy does not use
// cost nothing, because this is inlined.
POISE_INLINE int poise_open(poise_call *c, uint32_t table, uint32_t job) {
	const poise_table_block *t = POISE_AT(table);
	const poise_job_block *j = POISE_AT(job);
	const poise_column_block *column = POISE_AT(t->descriptors);
	if (t->magic != POISE_MAGIC || t->columns != poise_columns || t->dims != poise_dims || t->param_count != poise_params)
		return 0;
	const poise_list_block *fleet = POISE_AT(t->fleet);
	const double *request = POISE_AT(j->request);
	uint32_t dense = 1;
	(void)column, (void)request;
	c->rows = t->rows;
	c->nodes = fleet->nodes;
	c->candidate = POISE_AT(t->candidate);
	c->job.device_count = j->device_count;
	c->job.device_milli = j->device_milli;
	c->job.device_kind.id = j->device_kind;
	c->job.model_count = j->model_count;
	c->job.models = POISE_AT(j->models);
	c->job.selectors = j->selectors;
#define POISE_X(field) c->job.field = POISE_READ_##field((const char *)POISE_AT(j->fields) + 8 * poise_field_##field);
	POISE_JOB_FIELDS(POISE_X)
#undef POISE_X
#define POISE_VIEW(target, i) \
	target = POISE_AT(column[i].data); \
	dense &= column[i].stride == sizeof *(target);
#define POISE_X(member, text) { \
	const double *total = POISE_AT(fleet->list + fleet->stride * dim_##member); \
	POISE_VIEW(c->member.capacity, poise_capacity_##member) \
	POISE_VIEW(c->member.allocated, poise_allocated_##member) \
	c->member.request = request[dim_##member]; \
	c->member.fleet_sum = total[0]; \
	c->member.fleet_max = total[1]; }
	POISE_DIMENSIONS(POISE_X)
#undef POISE_X
#define POISE_VIEW_class POISE_VIEW
#define POISE_VIEW_taints POISE_VIEW
#define POISE_VIEW_selectors POISE_VIEW
#define POISE_VIEW_device_model POISE_VIEW
#define POISE_VIEW_running_tasks POISE_VIEW
#define POISE_VIEW_tenant_tasks POISE_VIEW
#define POISE_VIEW_job_tasks POISE_VIEW
#define POISE_VIEW_age POISE_VIEW
#define POISE_VIEW_devices(target, i) \
	target.free = POISE_AT(column[i].data); \
	target.slots = t->slots; \
	dense &= column[i].stride == 2 * t->slots;
#define POISE_X(member, kind, ...) POISE_VIEW_##kind(c->member, poise_column_##member)
	POISE_COLUMNS(POISE_X)
#undef POISE_X
#define POISE_X(member, text) POISE_VIEW(c->member, poise_column_##member)
	POISE_LABELS(POISE_X)
#undef POISE_X
#define POISE_X(member, type, options) \
	c->param.member = POISE_READ_##type((const char *)POISE_AT(t->params) + 8 * poise_param_##member);
	POISE_PARAMS(POISE_X)
#undef POISE_X
#define POISE_X(member, text) { \
	const poise_list_block *domains = POISE_AT(t->domains); \
	c->domain.member = POISE_AT(domains->dims + domains->stride * poise_domain_##member); }
	POISE_DOMAINS(POISE_X)
#undef POISE_X
	c->profile = t->profile ? POISE_AT(t->profile) : 0;
	return dense;
}

#include "poise_entry.h"

#endif
