// Views over a table that the host's own code wrote (table.txt), and over the
// harness's.
#include "all.c"
#include "poise_test.h"

// table.txt: base pointer, those of job and out, size; then the arena in hex. It
// was written by package abi for this manifest, with room for 70 rows, 66 in
// use, and column i holding 1000*i + row (and a half, where it is of doubles;
// device d has (that + 333*d) mod 1001).
static void host(void) {
	unsigned base, job, out, size, byte;
	FILE *f = fopen("table.txt", "r");
	if (!f || fscanf(f, "%u %u %u %u", &base, &job, &out, &size) != 4)
		exit(2);
	poise_arena = calloc(1, FAKE_ARENA);
	for (unsigned i = 0; i < size; i++) {
		CHECK(fscanf(f, "%2x", &byte) == 1);
		poise_arena[base + i] = (unsigned char)byte;
	}
	fclose(f);
	CHECK(poise_score(base, job, out) == 0);

	const poise_call *c = &seen;
	CHECK(c->rows == 66 && c->nodes == 99);
	CHECK(poise_is_candidate(c, 0) && !poise_is_candidate(c, 1) && poise_is_candidate(c, 63) && !poise_is_candidate(c, 64) && poise_is_candidate(c, 65));
	CHECK(c->job.device_count == 2 && c->job.device_milli == 1000 && c->job.device_kind.id == 901 && c->job.selectors == 3);
	CHECK(poise_model_allowed(&c->job, (poise_symbol){903}) && !poise_model_allowed(&c->job, (poise_symbol){904}));
	CHECK(c->job.priority == -5 && c->job.tasks == 8 && c->job.task_index == 2 && c->job.tenant.id == 904);
	CHECK(c->job.run_time == 60000 && c->job.seed == 1ull << 63);
	CHECK(c->cpu.request == 1500 && c->memory.request == 8589934592);
	CHECK(c->cpu.fleet_sum == 1e6 && c->cpu.fleet_max == 128000 && c->memory.fleet_sum == 1e12);
	CHECK(c->param.weight == 0.5 && c->param.shift == -3 && c->param.on == 1 && c->param.only.id == 900);
	CHECK(c->param.mode == 1 && c->param.need == 7);

	CHECK(c->cpu.capacity[65] == 65.5 && c->cpu.allocated[65] == 1065.5 && c->memory.allocated[0] == 3000.5);
	CHECK(c->class[65].id == 4065 && c->taints[65] == 5065 && c->selectors[65] == 6065);
	CHECK(poise_free(c->gpus, 65)[3] == (7065 + 999) % 1001 && poise_free(c->npus, 1)[0] == 8001 % 1001);
	CHECK(poise_free_total(c->gpus, 2) == 7002 % 1001 + 7335 % 1001 + 7668 % 1001 + 8001 % 1001);
	CHECK(c->model[65].id == 9065 && c->npu_model[65].id == 10065);
	CHECK(c->running[65] == 11065 && c->tenant[65] == 12065 && c->own[65] == 13065 && c->age[65] == 14065.5);
	CHECK(c->zone[65].id == 15065 && c->rack[65].id == 16065);

	const poise_domain *zone = c->domain.zone;
	CHECK(zone->count == 3 && zone->absent == 5 && c->domain.rack->count == 0 && c->domain.rack->absent == 99);
	CHECK(zone->min_tenant_tasks == 4 && zone->max_tenant_tasks == 9 && zone->min_job_tasks == 1 && zone->max_job_tasks == 5);
	CHECK(zone->min_nodes == 1 && zone->max_nodes == 7);
	for (uint32_t i = 0; i < 3; i++) {
		const poise_domain_value *v = poise_domain_find(zone, (poise_symbol){10 * (i + 1)});
		CHECK(v == poise_domain_at(zone, i));
		CHECK(poise_domain_capacity(v, dim_memory) == 4 * i + 2 && poise_domain_allocated(v, dim_cpu) == 4 * i + 3);
		CHECK(!poise_domain_find(zone, (poise_symbol){10 * i + 5}));
	}
	CHECK(!poise_domain_find(zone, (poise_symbol){35}) && !poise_domain_find(c->domain.rack, (poise_symbol){10}));

	CHECK(c->profile->epoch == 12 && c->profile->total_count == 50 && c->profile->total_weight == 60 && c->profile->count == 3);
	const poise_shape *shape = poise_shape_at(c->profile, 2);
	CHECK(shape->count == 5 && shape->weight == 15 && shape->device_count == 2 && shape->request[dim_memory] == 600);
	CHECK(shape->model_count == 2 && poise_shape_models(shape)[0].id == 903 && poise_shape_models(shape)[1].id == 902);

	const poise_out_block *o = POISE_AT(out);
	const double *loss = POISE_AT(o->values);
	CHECK(loss[65] == 0.5 * 14065.5);

	((uint32_t *)(poise_arena + base))[4]++; // a column more than the manifest has
	CHECK(poise_score(base, job, out) == 1);
	free(poise_arena);
	poise_arena = 0;
}

static void devices(uint32_t count, uint32_t milli, uint32_t want) {
	fake_table(1, 4);
	fake_free("devices", 0, 0, 400);
	fake_free("devices", 0, 1, 1000);
	fake_free("devices", 0, 2, 300);
	fake_free("devices", 0, 3, 1000);
	fake_ask("gpu", count, milli);
	fake_score();
	CHECK(fake_masks()[0] == want);
}

static void harness(void) {
	fake_table(3, 4);
	fake_text("topology.kubernetes.io/zone", 1, "a");
	fake_text("rack", 2, "r2");
	CHECK(fake_filter()[0] == 7 && fake_filter()[1] == 0);
	fake_param("only", "b");
	fake_param("mode", "spread");
	fake_param("weight", "2");
	CHECK(fake_filter()[1] == reason_other);

	fake_domain("rack", "r1", 3, 4, 5)[dim_memory] = 10;
	fake_domain("rack", "r2", 1, 9, 7)[poise_dims + dim_cpu] = 20;
	fake_shape(3, 1, 500)[dim_memory] = 100;
	fake_field("seed", 1000);
	fake_field("tenant", fake_symbol("t").id);
	fake_allow("T4");
	fake_refuse(1);
	fake_set("age", 2, 0.25);
	fake_set("capacity:cpu", 0, 8000);
	fake_set("capacity:cpu", 1, 4000);
	CHECK(fake_score()[2] == 0.5);
	CHECK(seen.param.mode == 0 && seen.job.seed == 1000 && poise_same(seen.job.tenant, fake_symbol("t")));
	CHECK(seen.cpu.fleet_sum == 12000 && seen.cpu.fleet_max == 8000 && seen.nodes == 3);
	CHECK(poise_model_allowed(&seen.job, fake_symbol("T4")) && !poise_model_allowed(&seen.job, fake_symbol("A100")));
	CHECK(poise_is_candidate(&seen, 0) && !poise_is_candidate(&seen, 1));
	CHECK(seen.domain.rack->max_tenant_tasks == 9 && seen.domain.rack->min_job_tasks == 5);
	CHECK(poise_domain_allocated(poise_domain_find(seen.domain.rack, seen.rack[2]), dim_cpu) == 20);
	CHECK(seen.profile->total_weight == 6 && poise_shape_at(seen.profile, 0)->request[dim_memory] == 100);
}

int main(void) {
	host();
	harness();
	devices(0, 0, 0);
	devices(2, 1000, 10);
	devices(3, 1000, 0);
	devices(1, 1000, 2);
	devices(1, 350, 1);
	devices(1, 250, 4);
	return fake_done();
}
