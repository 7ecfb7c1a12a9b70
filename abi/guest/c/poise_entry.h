// The other half of poise.h, which includes it: the entry points of a module and
// its manifest.
#ifndef POISE_ENTRY_H
#define POISE_ENTRY_H

// POISE_FILTER(c, reasons) { ... } is the filter: it sets reasons[r] of every row
// to 0 or to a reason_... . POISE_SCORE(c, loss) { ... } is the score: it sets
// loss[r] to a finite number, smaller is better. With POISE_CHOOSES_DEVICES it
// is POISE_SCORE(c, loss, masks), and masks[r] = 0 leaves the choice to the host.
#define POISE_FILTER(c, reasons) \
	static void poise_filter_rows(const poise_call *c, uint32_t *restrict reasons); \
	POISE_ENTRY("poise_filter", poise_filter, poise_filter_rows(&call, values)) \
	static void poise_filter_rows(const poise_call *c, uint32_t *restrict reasons)
#ifdef POISE_CHOOSES_DEVICES
#define POISE_SCORE(c, loss, masks) \
	static void poise_score_rows(const poise_call *c, double *restrict loss, uint32_t *restrict masks); \
	POISE_ENTRY("poise_score", poise_score, poise_score_rows(&call, values, (uint32_t *)POISE_AT(o->masks))) \
	static void poise_score_rows(const poise_call *c, double *restrict loss, uint32_t *restrict masks)
#else
#define POISE_SCORE(c, loss) \
	static void poise_score_rows(const poise_call *c, double *restrict loss); \
	POISE_ENTRY("poise_score", poise_score, poise_score_rows(&call, values)) \
	static void poise_score_rows(const poise_call *c, double *restrict loss)
#endif
#define POISE_ENTRY(name, function, run) \
	POISE_EXPORT(name) int32_t function(uint32_t table, uint32_t job, uint32_t out); \
	int32_t function(uint32_t table, uint32_t job, uint32_t out) { \
		poise_call call; \
		if (!poise_open(&call, table, job)) \
			return 1; \
		const poise_out_block *o = POISE_AT(out); \
		void *values = (void *)POISE_AT(o->values); \
		run; \
		return 0; \
	}

// The manifest: characters side by side, so that it is data and nothing has to
// put it together. A list's first item has a blank where the others have a comma.
#define POISE_STRING(...) #__VA_ARGS__
#define POISE_STRINGS(...) POISE_STRING(__VA_ARGS__)
#ifdef POISE_DESCRIPTION
#define POISE_HEAD "{\"name\":\"" POISE_NAME "\",\"version\":\"" POISE_VERSION "\",\"description\":\"" POISE_DESCRIPTION "\",\"columns\":["
#else
#define POISE_HEAD "{\"name\":\"" POISE_NAME "\",\"version\":\"" POISE_VERSION "\",\"columns\":["
#endif
#ifdef POISE_ROW_PURE
#define POISE_TAIL_ROW_PURE ",\"row_pure\":true"
#else
#define POISE_TAIL_ROW_PURE
#endif
#ifdef POISE_CHOOSES_DEVICES
#define POISE_TAIL_DEVICES ",\"chooses_devices\":true"
#else
#define POISE_TAIL_DEVICES
#endif
#ifdef POISE_WANTS_PROFILE
#define POISE_TAIL_PROFILE ",\"wants_profile\":true"
#else
#define POISE_TAIL_PROFILE
#endif
#ifdef POISE_LOSS_RANGE
#define POISE_TAIL_RANGE ",\"loss_range\":[" POISE_STRINGS(POISE_LOSS_RANGE) "]"
#else
#define POISE_TAIL_RANGE
#endif
#ifdef POISE_TIE
#define POISE_TAIL_TIE ",\"tie\":\"" POISE_TIE "\""
#else
#define POISE_TAIL_TIE
#endif
#define POISE_TAIL "}" POISE_TAIL_ROW_PURE POISE_TAIL_DEVICES POISE_TAIL_PROFILE POISE_TAIL_RANGE POISE_TAIL_TIE "}"

#define POISE_TEXTS(T) \
	T(head, POISE_HEAD) \
	POISE_DIMENSIONS(POISE_DIMENSION_TEXT) POISE_COLUMNS(POISE_COLUMN_TEXT) \
	T(labels, "],\"labels\":[") POISE_LABELS(POISE_LABEL_TEXT) \
	T(domains, "],\"domains\":[") POISE_DOMAINS(POISE_DOMAIN_TEXT) \
	T(params, "],\"params\":[") POISE_PARAMS(POISE_PARAM_TEXT) \
	T(job_fields, "],\"job_fields\":[") POISE_JOB_FIELDS(POISE_FIELD_TEXT) \
	T(reasons, "],\"reasons\":{") POISE_REASONS(POISE_REASON_TEXT) \
	T(tail, POISE_TAIL)
#define POISE_DIMENSION_TEXT(member, text) \
	POISE_ITEM(capacity_##member, poise_capacity_##member, "\"capacity:" text "\"") \
	POISE_ITEM(allocated_##member, poise_allocated_##member, "\"allocated:" text "\"")
#define POISE_COLUMN_TEXT(member, kind, ...) POISE_ITEM(column_##member, poise_column_##member, "\"" #kind __VA_ARGS__ "\"")
#define POISE_LABEL_TEXT(member, text) POISE_ITEM(column_##member, poise_column_##member - poise_first_label, "\"" text "\"")
#define POISE_DOMAIN_TEXT(member, text) POISE_ITEM(domain_##member, poise_domain_##member, "\"" text "\"")
#define POISE_PARAM_TEXT(member, type, options) \
	POISE_ITEM(param_##member, poise_param_##member, "{\"name\":\"" #member "\",\"type\":\"" #type "\"" options "}")
#define POISE_FIELD_TEXT(field) POISE_ITEM(field_##field, poise_field_##field, "\"" #field "\"")
#define POISE_REASON_TEXT(code, name, text) POISE_ITEM(reason_##code, poise_reason_##name, "\"" #code "\":" #text)

static const struct {
#define POISE_ITEM(member, index, text) char comma_##member, member[sizeof(text) - 1];
#define POISE_X(member, text) char member[sizeof(text) - 1];
	POISE_TEXTS(POISE_X)
#undef POISE_ITEM
#undef POISE_X
} poise_manifest = {
#define POISE_ITEM(member, index, text) (index) == 0 ? ' ' : ',', text,
#define POISE_X(member, text) text,
	POISE_TEXTS(POISE_X)
#undef POISE_ITEM
#undef POISE_X
};

#ifdef __wasm__
static const struct {
	const void *text;
	uint32_t length;
} poise_description = {&poise_manifest, sizeof poise_manifest};

POISE_EXPORT("poise_abi_v1") int32_t poise_abi_v1(void) { return 0; }
POISE_EXPORT("poise_describe") const void *poise_describe(void) { return &poise_description; }

extern unsigned char __heap_base; // the linker's: behind stack and data
static uint32_t poise_top;        // behind what was handed out

// Called at set-up only; what it hands out is never given back.
POISE_EXPORT("poise_alloc") uint32_t poise_alloc(uint32_t size, uint32_t align) {
	uint64_t start = poise_top ? poise_top : (uint32_t)(uintptr_t)&__heap_base;
	if (align > 1)
		start = (start + align - 1) / align * align;
	uint64_t end = start + size, pages = (end + 0xffff) >> 16, have = __builtin_wasm_memory_size(0);
	if (end > UINT32_MAX || (pages > have && __builtin_wasm_memory_grow(0, pages - have) == (uintptr_t)-1))
		return 0;
	poise_top = (uint32_t)end;
	return (uint32_t)start;
}
#endif

#endif
