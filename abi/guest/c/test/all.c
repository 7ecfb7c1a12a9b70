// A policy that declares one of everything and reads all of it.
#define POISE_NAME "all"
#define POISE_VERSION "1.0.0"
#define POISE_DESCRIPTION "one of everything"
#define POISE_CHOOSES_DEVICES
#define POISE_WANTS_PROFILE
#define POISE_TIE "seeded"
#define POISE_LOSS_RANGE -1, 1e9
#define POISE_DIMENSIONS(D) D(cpu, "cpu") D(memory, "memory")
#define POISE_COLUMNS(C) \
	C(class, class) C(taints, taints) C(selectors, selectors) C(gpus, devices) C(npus, devices, ":npu") \
	C(model, device_model) C(npu_model, device_model, ":npu") C(running, running_tasks) C(tenant, tenant_tasks) \
	C(own, job_tasks) C(age, age)
#define POISE_LABELS(L) L(zone, "topology.kubernetes.io/zone") L(rack, "rack")
#define POISE_DOMAINS(D) D(zone, "topology.kubernetes.io/zone") D(rack, "rack")
#define POISE_PARAMS(P) \
	P(weight, f64, POISE_DEFAULT(0.5) POISE_MIN(-1) POISE_MAX(1e3)) \
	P(shift, i64, POISE_DEFAULT(-3)) \
	P(on, bool, POISE_DEFAULT(true)) \
	P(only, symbol, POISE_DEFAULT("a")) \
	P(mode, enum, POISE_DEFAULT("pack") POISE_VALUES("spread", "pack")) \
	P(need, f64, )
#define POISE_REASONS(R) R(1, quoted, "a \"quoted\" text") R(7, other, "not the zone")
#define POISE_JOB_FIELDS(F) F(priority) F(tasks) F(task_index) F(tenant) F(run_time) F(seed)
#include "poise.h"

POISE_FILTER(c, reasons) {
	for (uint32_t r = 0; r < c->rows; r++)
		reasons[r] = poise_same(c->zone[r], c->param.only) ? reason_none : reason_other;
}

// What a test looks at: the call of the last score.
static poise_call seen;

POISE_SCORE(c, loss, masks) {
	seen = *c;
	for (uint32_t r = 0; r < c->rows; r++) {
		loss[r] = c->param.weight * c->age[r];
		masks[r] = poise_device_mask(c->gpus, r, &c->job);
	}
}
