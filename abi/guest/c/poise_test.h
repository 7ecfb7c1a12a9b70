// Native harness of the Poise guest SDK for C: the test of a policy includes the
// policy's source, then this header. It builds a table in ordinary memory, laid
// out as the host does, and calls the policy's own entry points on it.
//
//	#include "tight.c"
//	#include "poise_test.h"
//
//	int main(void) {
//		fake_table(2, 0);
//		fake_set("capacity:cpu", 0, 8000);
//		fake_set("capacity:cpu", 1, 4000);
//		fake_request("cpu", 1000);
//		const double *loss = fake_score();
//		CHECK(loss[1] < loss[0]);
//		return fake_done();
//	}
//
// The fleet block is that of the table's rows. A name that the policy does not
// declare ends the program.
#ifndef POISE_TEST_H
#define POISE_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAKE_ARENA = 8 << 20, FAKE_MODELS = 64, FAKE_VALUES = 64, FAKE_SHAPES = 64, FAKE_SYMBOLS = 256 };

static struct {
	uint32_t size, failures, symbol_count;
	uint32_t job, out, candidate, values, masks, fields, request, models, fleet_dims, domain_keys;
	const char *symbols[FAKE_SYMBOLS];
} fake;

// What the policy declared, by number.
static const char *const fake_columns[] = {
#define POISE_X(member, text) "capacity:" text, "allocated:" text,
	POISE_DIMENSIONS(POISE_X)
#undef POISE_X
#define POISE_X(member, kind, ...) #kind __VA_ARGS__,
	POISE_COLUMNS(POISE_X)
#undef POISE_X
#define POISE_X(member, text) text,
	POISE_LABELS(POISE_X)
#undef POISE_X
	0};
static const char *const fake_dimensions[] = {
#define POISE_X(member, text) text,
	POISE_DIMENSIONS(POISE_X) 0};
static const char *const fake_domains[] = {POISE_DOMAINS(POISE_X) 0};
#undef POISE_X
static const char *const fake_params[] = {
#define POISE_X(member, type, options) #member,
	POISE_PARAMS(POISE_X) 0};
#undef POISE_X
static const char *const fake_types[] = {
#define POISE_X(member, type, options) #type options,
	POISE_PARAMS(POISE_X) 0};
#undef POISE_X
static const char *const fake_fields[] = {
#define POISE_X(field) #field,
	POISE_JOB_FIELDS(POISE_X) 0};
#undef POISE_X

#define CHECK(condition) ((condition) ? (void)0 : fake_fail(__FILE__, __LINE__, #condition))

static inline void fake_fail(const char *file, int line, const char *condition) {
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
	fake.failures++;
}

// The exit code of a test's main.
static inline int fake_done(void) {
	if (fake.failures == 0)
		puts("ok " POISE_NAME);
	return fake.failures != 0;
}

static inline void fake_stop(const char *what, const char *name) {
	fprintf(stderr, "%s: \"%s\", expected one that the policy declares\n", what, name);
	exit(2);
}

static inline uint32_t fake_index(const char *what, const char *const *names, const char *name) {
	for (uint32_t i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	fake_stop(what, name);
	return 0;
}

static inline uint32_t fake_take(size_t bytes) {
	uint32_t at = fake.size;
	if (bytes > FAKE_ARENA - fake.size) {
		fputs("table: over the harness's memory, expected fewer rows\n", stderr);
		exit(2);
	}
	fake.size += (bytes + 7) & ~(size_t)7;
	return at;
}

static inline void *fake_at(uint32_t offset) { return poise_arena + offset; }
static inline poise_table_block *fake_header(void) { return fake_at(0); }

static inline poise_column_block *fake_column(const char *name) {
	return (poise_column_block *)fake_at(fake_header()->descriptors) + fake_index("column", fake_columns, name);
}

static inline void *fake_cell(const char *name, uint32_t row) {
	poise_column_block *column = fake_column(name);
	return fake_at(column->data + row * column->stride);
}

// The symbol of a text, which must outlive the test; "" is the absent one.
static inline poise_symbol fake_symbol(const char *text) {
	uint32_t i = 0;
	if (*text == 0)
		return (poise_symbol){0};
	while (i < fake.symbol_count && strcmp(fake.symbols[i], text) != 0)
		i++;
	if (i == FAKE_SYMBOLS)
		fake_stop("symbol after too many", text);
	fake.symbols[i] = text;
	if (i == fake.symbol_count)
		fake.symbol_count++;
	return (poise_symbol){i + 1};
}

// A number of a row, in any column of numbers.
static inline void fake_set(const char *column, uint32_t row, double value) {
	void *cell = fake_cell(column, row);
	if (strncmp(column, "capacity:", 9) == 0 || strncmp(column, "allocated:", 10) == 0 || strcmp(column, "age") == 0)
		*(double *)cell = value;
	else if (strcmp(column, "taints") == 0 || strcmp(column, "selectors") == 0)
		*(uint64_t *)cell = (uint64_t)value;
	else
		*(uint32_t *)cell = (uint32_t)value;
}

// A text of a row: the name of its class, a label's value or a device model.
static inline void fake_text(const char *column, uint32_t row, const char *text) {
	*(poise_symbol *)fake_cell(column, row) = fake_symbol(text);
}

// The free milli-devices of one device of a row.
static inline void fake_free(const char *column, uint32_t row, uint32_t device, uint32_t milli) {
	((uint16_t *)fake_cell(column, row))[device] = (uint16_t)milli;
}

// Takes a row out of the candidates, as the host's own filters do.
static inline void fake_refuse(uint32_t row) {
	((uint64_t *)fake_at(fake.candidate))[row / 64] &= ~(1ull << row % 64);
}

static inline void fake_request(const char *dimension, double amount) {
	((double *)fake_at(fake.request))[fake_index("dimension", fake_dimensions, dimension)] = amount;
}

// The job asks for so many devices of a kind, so many milli-devices on each.
static inline void fake_ask(const char *kind, uint32_t count, uint32_t milli) {
	poise_job_block *job = fake_at(fake.job);
	job->device_count = count, job->device_milli = milli, job->device_kind = fake_symbol(kind).id;
}

// Adds an allowed model.
static inline void fake_allow(const char *model) {
	poise_job_block *job = fake_at(fake.job);
	((poise_symbol *)fake_at(fake.models))[job->model_count++ % FAKE_MODELS] = fake_symbol(model);
}

// A declared field of the job; tenant is fake_symbol("name").id.
static inline void fake_field(const char *field, int64_t value) {
	((int64_t *)fake_at(fake.fields))[fake_index("job field", fake_fields, field)] = value;
}

// The index of a text in the values of an enum: quoted, as options has them.
static inline uint64_t fake_value(const char *options, const char *text) {
	const char *at = strstr(options, "\"values\":[") + strlen("\"values\":[");
	uint64_t index = 0;
	for (size_t n; (at = strchr(at, '"')); at += n + 2, index++) {
		n = strcspn(at + 1, "\"");
		if (n == strlen(text) && memcmp(at + 1, text, n) == 0)
			return index;
	}
	fake_stop("value", text);
	return 0;
}

// A parameter, as text, the way a tenant writes it.
static inline void fake_param(const char *name, const char *text) {
	uint32_t i = fake_index("parameter", fake_params, name);
	uint64_t bits = 0;
	double number = strtod(text, 0);
	switch (fake_types[i][0]) { // of f64, i64, bool, symbol, enum
	case 'f':
		memcpy(&bits, &number, 8);
		break;
	case 'i':
		bits = (uint64_t)strtoll(text, 0, 10);
		break;
	case 'b':
		bits = strcmp(text, "true") == 0;
		break;
	case 's':
		bits = fake_symbol(text).id;
		break;
	default:
		bits = fake_value(fake_types[i], text);
	}
	((uint64_t *)fake_at(fake_header()->params))[i] = bits;
}

static inline void fake_defaults(void) {
	static char text[poise_params + 1][256];
	for (uint32_t i = 0; fake_params[i]; i++) {
		const char *at = strstr(fake_types[i], "\"default\":");
		if (!at)
			continue;
		at += strlen("\"default\":");
		at += *at == '"';
		snprintf(text[i], sizeof text[i], "%.*s", (int)strcspn(at, "\","), at);
		fake_param(fake_params[i], text[i]);
	}
}

// A value of a domain with its counts. Its amounts, capacity then allocated, are
// for the test to set before the next value.
static inline double *fake_domain(const char *key, const char *value, uint32_t nodes, uint32_t tenant_tasks, uint32_t job_tasks) {
	poise_domain *d = (poise_domain *)fake_at(fake.domain_keys) + fake_index("domain", fake_domains, key);
	if (d->count == FAKE_VALUES)
		fake_stop("domain value after too many", value);
	uint32_t symbol = fake_symbol(value).id, i = 0;
	while (i < d->count && poise_domain_at(d, i)->value.id < symbol) // they stand in order
		i++;
	poise_domain_value *v = fake_at(d->values + i * d->stride);
	memmove(fake_at(d->values + (i + 1) * d->stride), v, (d->count - i) * d->stride);
	memset(v, 0, d->stride);
	*v = (poise_domain_value){{symbol}, nodes, tenant_tasks, job_tasks};
#define POISE_X(name) \
	d->min_##name = d->count == 0 || name < d->min_##name ? name : d->min_##name; \
	d->max_##name = name > d->max_##name ? name : d->max_##name;
	POISE_X(nodes) POISE_X(tenant_tasks) POISE_X(job_tasks)
#undef POISE_X
	d->count++;
	return v->amounts;
}

// A shape of the profile; its request is for the test to set.
static inline double *fake_shape(double count, uint32_t devices, uint32_t milli) {
	poise_profile *p = fake_at(fake_header()->profile);
	if (!fake_header()->profile || p->count == FAKE_SHAPES)
		fake_stop("profile", "shape");
	poise_shape *s = fake_at(p->shapes + p->count++ * p->stride);
	*s = (poise_shape){.count = count, .weight = count * (1 + devices), .device_count = devices, .device_milli = milli};
	p->total_count += s->count, p->total_weight += s->weight;
	return s->request;
}

static inline uint32_t fake_stride(const char *column, uint32_t slots) {
	uint32_t index = fake_index("column", fake_columns, column);
	if (strncmp(column, "capacity:", 9) == 0 || strncmp(column, "allocated:", 10) == 0)
		return 8;
	if (index >= poise_first_label)
		return 4;
	if (strcmp(column, "taints") == 0 || strcmp(column, "selectors") == 0 || strcmp(column, "age") == 0)
		return 8;
	return strncmp(column, "devices", 7) == 0 ? 2 * slots : 4;
}

// Begins a new table of so many rows, all candidates, with so many device slots
// each: everything is 0, parameters have their defaults.
static inline void fake_table(uint32_t rows, uint32_t slots) {
	if (!poise_arena && !(poise_arena = malloc(FAKE_ARENA)))
		abort();
	memset(poise_arena, 0, FAKE_ARENA);
	fake.size = 0;
	fake_take(sizeof(poise_table_block));
	poise_table_block *t = fake_header();
	*t = (poise_table_block){.magic = POISE_MAGIC, .rows = rows, .row_capacity = rows, .columns = poise_columns, .dims = poise_dims, .slots = slots, .param_count = poise_params};
	t->descriptors = fake_take(poise_columns * sizeof(poise_column_block));
	t->params = fake_take(8 * poise_params);
	fake.job = fake_take(sizeof(poise_job_block));
	fake.fields = fake_take(8 * poise_fields);
	fake.request = fake_take(8 * poise_dims);
	fake.models = fake_take(4 * FAKE_MODELS);
	*(poise_job_block *)fake_at(fake.job) = (poise_job_block){.size = sizeof(poise_job_block), .models = fake.models, .field_count = poise_fields, .fields = fake.fields, .dims = poise_dims, .request = fake.request};
	fake.out = fake_take(sizeof(poise_out_block));
	t->fleet = fake_take(sizeof(poise_list_block));
	fake.fleet_dims = fake_take(16 * poise_dims);
	*(poise_list_block *)fake_at(t->fleet) = (poise_list_block){rows, poise_dims, 16, fake.fleet_dims};
	if (poise_domains > 0) {
		t->domains = fake_take(sizeof(poise_list_block));
		fake.domain_keys = fake_take(sizeof(poise_domain) * poise_domains);
		*(poise_list_block *)fake_at(t->domains) = (poise_list_block){poise_domains, fake.domain_keys, sizeof(poise_domain), poise_dims};
		for (uint32_t i = 0; fake_domains[i]; i++) {
			poise_domain *d = (poise_domain *)fake_at(fake.domain_keys) + i;
			d->stride = 16 + 16 * poise_dims;
			d->values = fake_take(FAKE_VALUES * d->stride);
		}
	}
#ifdef POISE_WANTS_PROFILE
	t->profile = fake_take(sizeof(poise_profile));
	poise_profile *p = fake_at(t->profile);
	p->stride = 32 + 8 * poise_dims;
	p->shapes = fake_take(FAKE_SHAPES * p->stride);
#endif
	t->candidate = fake_take((rows + 63) / 64 * 8);
	for (uint32_t r = 0; r < rows; r++)
		((uint64_t *)fake_at(t->candidate))[r / 64] |= 1ull << r % 64;
	fake.candidate = t->candidate;
	for (uint32_t i = 0; fake_columns[i]; i++) {
		poise_column_block *column = (poise_column_block *)fake_at(t->descriptors) + i;
		column->stride = fake_stride(fake_columns[i], slots);
		column->data = fake_take(rows * column->stride);
	}
	fake.values = fake_take(8 * rows);
	fake.masks = fake_take(4 * rows);
	*(poise_out_block *)fake_at(fake.out) = (poise_out_block){fake.values, fake.masks, rows, 0};
	fake_defaults();
}

static inline const void *fake_call(int32_t (*function)(uint32_t, uint32_t, uint32_t)) {
	poise_table_block *t = fake_header();
	double *total = fake_at(fake.fleet_dims);
	for (int d = 0; d < (int)poise_dims; d++) { // poise_dims may be 0
		const double *capacity = fake_at(fake_column(fake_columns[2 * d])->data);
		total[2 * d] = total[2 * d + 1] = 0;
		for (uint32_t r = 0; r < t->rows; r++) {
			total[2 * d] += capacity[r];
			if (capacity[r] > total[2 * d + 1])
				total[2 * d + 1] = capacity[r];
		}
	}
	CHECK(function(0, fake.job, fake.out) == 0);
	return fake_at(fake.values);
}

// The answers of the policy, one a row: they last until the next call.
#define fake_filter() ((const uint32_t *)fake_call(poise_filter))
#define fake_score() ((const double *)fake_call(poise_score))
#define fake_masks() ((const uint32_t *)fake_at(fake.masks))

#endif
