// The SDK and its harness against each other: what was laid out is what a policy
// reads. The symbols of the harness count from 1001 in the order of first sight,
// so where one is expected the test compares with another of the same text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "../harness.mjs";

const probe = load(new URL("probe.wasm", import.meta.url));

const nodes = [
  {
    "capacity:cpu": 8000, "allocated:cpu": 1000, "allocated:memory": 5, class: "cpu-big", taints: 5, selectors: 2 ** 40,
    devices: [1000, 400, 399, 1000, 700], "devices:npu": [7], device_model: "T4", running_tasks: 6, tenant_tasks: 4,
    job_tasks: 1, age: 12.5, labels: { zone: "a", rack: "r1" },
  },
  { "capacity:cpu": 4000, devices: [100], age: 101, labels: { zone: "b", rack: "r1" }, tenant_tasks: 2 },
  { "capacity:cpu": 2000, labels: { rack: "r2" }, "allocated:memory": 9 },
];
const job = {
  request: { cpu: 1500, memory: 64 }, devices: { count: 2, milli: 1000, models: ["V100", "T4"] }, selectors: 3,
  priority: -7, tenant: "a", seed: 2n ** 40n, run_time: 60000, tasks: 5, task_index: 4,
};
const profile = [
  { count: 7, request: { cpu: 1 } },
  { count: 3, request: { memory: 32 }, devices: { count: 2, milli: 1000, models: ["T4"] } },
];
const read = (what, i, more = {}, scene = {}) =>
  probe.score({ nodes, job, profile, ...scene, params: { given: 1, what, i, ...more } }).losses;
const each = (what, want, more, scene) =>
  want.forEach((w, i) => w !== null && assert.deepEqual(read(what, i, more, scene)[0], w, `${what} ${i}`));

test("columns, in the order of the manifest whatever the order of declaration", () => {
  each("columns", [null, 5, 8000, 1000, null, 5, 2 ** 40, null, 6, 4, 1, 12.5]);
  const zones = read("columns", 0);
  assert.ok(zones[0] !== zones[1] && zones[2] === 0);
  assert.equal(read("columns", 7)[0], read("job", 4)[0], "the model of the node is the second of the job");
  const classes = read("columns", 4, { text: "cpu-big" });
  assert.equal(classes[0], read("params", 4, { text: "cpu-big" })[0], "a class is the symbol of its name");
  assert.equal(classes[1], 0);
  assert.equal(zones[0], read("fields", 1)[0], "texts of two places are one symbol");
});

test("devices", () => {
  each("devices", [3499, 3, 0b10, 0b1001, 400, 7]);
  assert.deepEqual(read("devices", 0), [3499, 100, 0]);
  assert.deepEqual(read("devices", 2), [2, 0, 0]);
  assert.deepEqual(read("devices", 3), [9, 0, 0], "not enough devices: no mask");
  const masks = (devices, what = "columns") => probe.score({ nodes, job: { devices }, params: { given: 1, what } }).masks;
  assert.deepEqual(masks({ count: 2 }), [0b1001, 0, 0]);
  assert.deepEqual(masks({ count: 1, milli: 100 }), [1, 1, 0]);
  assert.deepEqual(masks({}), [0, 0, 0]);
  assert.throws(() => masks({ count: 1 }, "masks"), /devices of node 0: \[1\] of/, "400 are not 1000");
  assert.throws(() => masks({ count: 2, milli: 100 }, "masks"), /expected 2 with 100 free/);
  for (let slots = 0; slots <= 32; slots++) {
    const free = Array.from({ length: slots }, (_, d) => (d * 373 + 1000) % 65536);
    const sum = free.reduce((a, b) => a + b, 0);
    assert.deepEqual(read("devices", 0, {}, { nodes: [{ devices: free }, { devices: free }] }), [sum, sum]);
  }
  assert.deepEqual(read("devices", 0, {}, { nodes: [{ devices: Array(32).fill(65535) }] }), [32 * 65535]);
});

test("job, fields, parameters and fleet", () => {
  each("job", [2, 1000, null, 2, null, 3, 1500, 64]);
  each("fields", [-7, null, 256, 60000, 5, 4]);
  each("params", [0, 1, 0.25, 1, null]);
  each("params", [null, 0, -0.5, 2], { flag: false, share: -0.5, given: 2 });
  each("fleet", [3, 14000, 8000, 0]);
  each("fleet", [1, 8000, 8000, 0], {}, { fleet: nodes.slice(0, 1) });
  assert.throws(() => probe.score({ nodes, params: {} }), /given: not given/);
});

test("domains count the whole fleet", () => {
  each("rack", [2, 0, 0, 6, 0, 1, 1, 2, 2, 6, 1, 12000, 5], { text: "r1" });
  each("rack", [2, 0, 0, 6, 0, 1, 1, 2, 1, 0, 0, 2000, 9], { text: "r2" });
  each("zone", [2, 1, 2, 4, 0, 1, 1, 1, 1, 4, 1, 8000, 5]);
  each("zone", [2, 1, 2, 4, 0, 1, 1, 1, -1, -1, -1, -1, -1], { text: "nowhere" });
  each("zone", [2, 1], {}, { nodes: nodes.slice(2), fleet: nodes });
});

test("profile", () => each("profile", [10, 7 + 9, 2, 3, 9, 2, 1000, 1, null, 32, 1]));

test("candidate bits", () => {
  const many = Array.from({ length: 130 }, () => ({}));
  assert.deepEqual(read("candidates", 0, {}, { nodes: many }), many.map(() => 1));
});

test("reasons by text", () => {
  const f = (text, want) => assert.deepEqual(probe.filter({ nodes, params: { given: 1, text } }), want);
  f("a", ["", "too old", 'not in zone "a"']);
  f("b", ['not in zone "a"', "too old", 'not in zone "a"']);
  f("", ['not in zone "a"', "too old", ""]);
});

test("the manifest", () => {
  const m = probe.manifest;
  assert.equal(m.description, 'says "what it reads" \\ Größe');
  assert.deepEqual(m.labels, ["zone"]);
  assert.deepEqual(m.domains, ["rack", "zone"]);
  assert.deepEqual(m.reasons, { 1: "too old", 2: 'not in zone "a"' });
  assert.deepEqual(m.job_fields, ["priority", "tenant", "seed", "run_time", "tasks", "task_index"]);
  assert.deepEqual(m.params[0].default, "columns");
  assert.deepEqual(m.params[1], { name: "i", type: "i64", default: 0, min: 0, max: 1000 });
  assert.deepEqual(m.params[3], { name: "share", type: "f64", default: 0.25, min: -1, max: 1e300 });
  assert.deepEqual(m.params[4], { name: "given", type: "f64" });
  assert.ok(m.wants_profile && m.chooses_devices && !m.row_pure);
});

test("memory: aligned, apart, and 0 where there is no more", () => {
  const { exports } = new WebAssembly.Instance(probe.module, {});
  exports._initialize();
  exports.poise_describe();
  let end = 0;
  for (const align of [1, 8, 16, 64, 4096, 65536]) {
    const at = exports.poise_alloc(1000, align);
    assert.ok(at % align === 0 && at >= end && at + 1000 <= exports.memory.buffer.byteLength);
    new Uint8Array(exports.memory.buffer, at, 1000).fill(255);
    end = at + 1000;
  }
  assert.equal(exports.poise_alloc(-1, 8), 0);
  assert.equal(exports.poise_alloc(0x7fffffff, 8), 0);
  let given = 0;
  while (given < 6 && exports.poise_alloc(0x3ffffff0 - 8, 8) !== 0) given++;
  assert.ok(given < 6, "4 GiB are not six times 1 GiB");
});
