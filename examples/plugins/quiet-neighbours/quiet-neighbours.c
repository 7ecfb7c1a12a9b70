// The policy quiet-neighbours keeps jobs that are sensitive to latency away from
// nodes that run many tasks, most of all tasks of other tenants. All jobs are
// spread over the racks and prefer one class of node.
#define POISE_NAME "quiet-neighbours"
#define POISE_VERSION "1.0.0"
#define POISE_DESCRIPTION "Keeps sensitive jobs away from busy nodes and other tenants, spreads over racks"
#define POISE_ROW_PURE
#define POISE_LOSS_RANGE 0, 1
#define POISE_COLUMNS(C) C(class, class) C(running, running_tasks) C(own, tenant_tasks)
#define POISE_LABELS(L) L(rack, "rack")
#define POISE_DOMAINS(D) D(racks, "rack")
#define POISE_PARAMS(P) \
	P(sensitive, i64, POISE_DEFAULT(10)) \
	P(max_neighbours, i64, POISE_DEFAULT(8) POISE_MIN(0)) \
	P(preferred, symbol, POISE_DEFAULT(""))
#define POISE_REASONS(R) R(1, neighbours, "other tenants: the node runs more than max_neighbours of their tasks")
#define POISE_JOB_FIELDS(F) F(priority)
#include "poise.h"

// Tasks at which half of a term's loss is reached.
static const double half_foreign = 2, half_running = 8;

// Parts of the loss; their sum is 1, the upper end of POISE_LOSS_RANGE.
static const double of_foreign = 0.4, of_running = 0.2, of_rack = 0.2, of_class = 0.2;

// Tasks of other tenants on a row's node.
static int64_t foreign(const poise_call *c, uint32_t r) {
	return (int64_t)c->running[r] - c->own[r];
}

// How far a rack is from the one with the fewest tasks of the tenant, 0 to 1. A
// node without a rack counts as one in the fullest.
static double rack_load(const poise_domain *racks, poise_symbol rack) {
	const poise_domain_value *v = poise_domain_find(racks, rack);
	if (!v)
		return 1;
	uint32_t width = racks->max_tenant_tasks - racks->min_tenant_tasks;
	return width ? (double)(v->tenant_tasks - racks->min_tenant_tasks) / width : 0;
}

POISE_FILTER(c, reasons) {
	int sensitive = c->job.priority >= c->param.sensitive;
	for (uint32_t r = 0; r < c->rows; r++)
		reasons[r] = sensitive && foreign(c, r) > c->param.max_neighbours ? reason_neighbours : reason_none;
}

POISE_SCORE(c, loss) {
	int sensitive = c->job.priority >= c->param.sensitive;
	int choosy = !poise_absent(c->param.preferred);
	for (uint32_t r = 0; r < c->rows; r++) {
		double sum = of_rack * rack_load(c->domain.racks, c->rack[r]);
		if (choosy && !poise_same(c->class[r], c->param.preferred))
			sum += of_class;
		if (sensitive) {
			double others = foreign(c, r), all = c->running[r];
			sum += of_foreign * others / (others + half_foreign) + of_running * all / (all + half_running);
		}
		loss[r] = sum;
	}
}
