// The losses of Poise's native best-fit on a random fleet with overcommitted
// nodes, from testdata/published.txt: equal bit for bit.
#include "bestfit.c"
#include "poise_test.h"

// testdata/published.txt: the number of nodes; per node cpu capacity and
// allocated in milli-cores and the free milli-devices of 8 slots; the number of
// jobs; per job cpu, devices and milli-devices on each, then a loss per node.
static void published(void) {
	unsigned nodes = 0, jobs = 0, differ = 0;
	FILE *f = fopen("testdata/published.txt", "r");
	CHECK(f && fscanf(f, "%u", &nodes) == 1 && nodes > 0);
	fake_table(nodes, 8);
	for (unsigned r = 0; r < nodes; r++) {
		double capacity, allocated;
		CHECK(fscanf(f, "%lf %lf", &capacity, &allocated) == 2);
		fake_set("capacity:cpu", r, capacity);
		fake_set("allocated:cpu", r, allocated);
		for (unsigned d = 0, milli; d < 8; d++) {
			CHECK(fscanf(f, "%u", &milli) == 1);
			fake_free("devices", r, d, milli);
		}
	}
	CHECK(fscanf(f, "%u", &jobs) == 1 && jobs > 0);
	for (unsigned j = 0; j < jobs; j++) {
		double cpu, want;
		unsigned count, milli;
		CHECK(fscanf(f, "%lf %u %u", &cpu, &count, &milli) == 3);
		fake_request("cpu", cpu);
		fake_ask("gpu", count, milli);
		const double *loss = fake_score();
		for (unsigned r = 0; r < nodes; r++) {
			CHECK(fscanf(f, "%lf", &want) == 1);
			differ += loss[r] != want;
		}
	}
	CHECK(differ == 0);
	fclose(f);
}

// Worked by hand: y = 0.5*(64000-16000)/128000 + 0.5*(2000-1000)/8000 = 0.25,
// loss = 100 - 75; with half of both maxima it is 0.5.
static void parameters(void) {
	fake_table(1, 2);
	fake_set("capacity:cpu", 0, 64000);
	fake_free("devices", 0, 0, 1000);
	fake_free("devices", 0, 1, 1000);
	fake_request("cpu", 16000);
	fake_ask("gpu", 1, 1000);
	CHECK(fake_score()[0] == 25);
	fake_param("cpu_max", "64000");
	fake_param("devices_max", "4000");
	CHECK(fake_score()[0] == 50);
}

int main(void) {
	published();
	parameters();
	return fake_done();
}
