// Runs on this machine, without WebAssembly: make test.
#include "quiet-neighbours.c"
#include "poise_test.h"

// The neighbours of a row: its tasks, and those of them that are the tenant's own.
static void tasks(uint32_t row, uint32_t running, uint32_t own) {
	fake_set("running_tasks", row, running);
	fake_set("tenant_tasks", row, own);
}

static void limit(void) {
	fake_table(3, 0);
	tasks(0, 8, 0);
	tasks(1, 9, 0);
	tasks(2, 20, 12);
	fake_field("priority", 10);
	CHECK(fake_filter()[0] == reason_none);
	CHECK(fake_filter()[1] == reason_neighbours);
	CHECK(fake_filter()[2] == reason_none);
	fake_param("max_neighbours", "0");
	CHECK(fake_filter()[2] == reason_neighbours);
	fake_field("priority", 9);
	CHECK(fake_filter()[1] == reason_none);
}

static void neighbours(void) {
	fake_table(4, 0);
	tasks(1, 8, 8);
	tasks(2, 8, 6);
	tasks(3, UINT32_MAX, 0);
	fake_field("priority", 10);
	// The four rows have no rack: 0.2 each.
	CHECK(fake_score()[0] == 0.2);
	CHECK(fake_score()[1] == 0.2 + 0.2 * 8 / 16);
	CHECK(fake_score()[2] == 0.2 + (0.4 * 2 / 4 + 0.2 * 8 / 16));
	fake_param("preferred", "fast");
	CHECK(fake_score()[3] > 0.99 && fake_score()[3] <= 1);
	fake_field("priority", 0);
	CHECK(fake_score()[3] == fake_score()[0]);
}

static void racks(void) {
	fake_table(4, 0);
	fake_domain("rack", "r1", 10, 4, 0);
	fake_domain("rack", "r2", 10, 2, 0);
	fake_domain("rack", "r3", 10, 6, 0);
	fake_text("rack", 0, "r1");
	fake_text("rack", 1, "r2");
	fake_text("rack", 2, "r3");
	CHECK(fake_score()[0] == 0.1);
	CHECK(fake_score()[1] == 0);
	CHECK(fake_score()[2] == 0.2);
	CHECK(fake_score()[3] == 0.2);
}

static void one_rack(void) {
	fake_table(1, 0);
	fake_domain("rack", "r1", 1, 4, 0);
	fake_text("rack", 0, "r1");
	CHECK(fake_score()[0] == 0);
}

static void classes(void) {
	fake_table(3, 0);
	fake_text("class", 0, "cpu-highmem");
	fake_text("class", 1, "cpu-general");
	fake_param("preferred", "cpu-highmem");
	CHECK(fake_score()[0] == 0.2);
	CHECK(fake_score()[1] == 0.4);
	CHECK(fake_score()[2] == 0.4);
	fake_param("preferred", "");
	CHECK(fake_score()[1] == 0.2);
}

int main(void) {
	limit();
	neighbours();
	racks();
	one_rack();
	classes();
	return fake_done();
}
