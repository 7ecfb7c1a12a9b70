import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "../../abi/guest/assemblyscript/harness.mjs";

const policy = load(new URL("dotproduct.wasm", import.meta.url));

// The losses are those of Poise's own baseline "dot-product" on 120 random nodes
// with random tasks, for 12 requests.
test("the published losses, bit for bit", () => {
  const { nodes, jobs } = JSON.parse(readFileSync(new URL("testdata/published.json", import.meta.url)));
  for (const { cpu, count, milli, losses } of jobs) {
    const job = { request: { cpu }, devices: { count, milli } };
    assert.deepEqual(policy.score({ nodes, job }).losses, losses);
    for (const [row, node] of nodes.entries()) {
      assert.deepEqual(policy.score({ nodes: [node], job }).losses, [losses[row]], "a row asked for alone");
    }
  }
});

test("by hand", () => {
  const f = (node, job, params, want) => assert.deepEqual(policy.score({ nodes: [node], job, params }).losses, [want]);
  const job = { request: { cpu: 64000 }, devices: { count: 4, milli: 1000 } };
  const full = { "capacity:cpu": 128000, devices: Array(8).fill(1000) };
  f(full, job, {}, 50); // x = 1 * 1/2 + 1 * 1/2
  f({ ...full, "allocated:cpu": 64000 }, job, {}, 38); // x = 3/4, 62.5 is cut to 62
  f({ ...full, devices: [] }, job, {}, 25);
  f({ ...full, "allocated:cpu": 200000 }, job, {}, 25); // idle cpu is not below 0
  f({ ...full, devices: [500, 500, 500, 1, 499] }, job, {}, 32); // 2000 free: x = 5/8
  f(full, job, { cpu_max: 256000 }, 32); // x = 1/2 * 1/4 + 1/2
  f(full, job, { devices_max: 16000 }, 32);
  f(full, { request: {} }, {}, 0);
});
