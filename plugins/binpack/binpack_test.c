#include "binpack.c"
#include "poise_test.h"

// Two nodes of 8 cores and 32 units of memory; the second half full.
static void two_nodes(void) {
	fake_table(2, 0);
	for (uint32_t r = 0; r < 2; r++) {
		fake_set("capacity:cpu", r, 8000);
		fake_set("capacity:memory", r, 32);
	}
	fake_set("allocated:cpu", 1, 4000);
	fake_set("allocated:memory", 1, 16);
	fake_request("cpu", 2000);
	fake_request("memory", 16);
}

static void fullest(void) {
	two_nodes();
	const double *loss = fake_score();
	CHECK(loss[0] == 1 - (0.25 + 0.5) / 2);
	CHECK(loss[1] == 1 - (0.75 + 1) / 2);
}

static void weights(void) {
	two_nodes();
	fake_param("memory", "0");
	CHECK(fake_score()[1] == 0.25);
	fake_param("cpu", "0");
	CHECK(fake_score()[0] == 1 && fake_score()[1] == 1);
}

// gpu counts for jobs that ask for it only, and no more than full is full.
static void gpu(void) {
	two_nodes();
	fake_set("capacity:gpu", 0, 4000);
	fake_set("allocated:cpu", 0, 9000);
	fake_request("memory", 0);
	CHECK(fake_score()[0] == 1 - (1.0 + 0) / 2);
	fake_request("gpu", 1000);
	CHECK(fake_score()[0] == 1 - (1.0 + 0 + 0.25) / 3);
}

// A node that declares no memory counts as the fleet's largest, empty; where no
// node declares any, memory has no say.
static void absent(void) {
	two_nodes();
	fake_request("memory", 0);
	fake_set("capacity:memory", 0, 0);
	CHECK(fake_score()[0] == 1 - (0.25 + 0) / 2);
	fake_set("capacity:memory", 1, 0);
	CHECK(fake_score()[0] == 0.75);
}

static void limit(void) {
	two_nodes();
	fake_set("running_tasks", 1, 3);
	CHECK(fake_filter()[1] == 0);
	fake_param("max_tasks", "3");
	CHECK(fake_filter()[0] == 0 && fake_filter()[1] == reason_most_tasks);
	fake_param("max_tasks", "4294967296");
	CHECK(fake_filter()[1] == 0);
}

int main(void) {
	fullest();
	weights();
	gpu();
	absent();
	limit();
	return fake_done();
}
