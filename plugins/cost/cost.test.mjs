import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "../../abi/guest/assemblyscript/harness.mjs";

const policy = load(new URL("cost.wasm", import.meta.url));

const params = { value_1: "spot", price_1: 1, value_2: "reserved", price_2: 4, default_price: 10 };
const node = (tier, more = {}) => ({ labels: tier ? { tier } : {}, age: 1e9, ...more });
const fleet = [node("spot"), node("reserved"), node("gold"), node()];
const hours = (n) => n * 3600 * 1000;

test("price over the dearest price", () => {
  const f = (nodes, more, job, want) => assert.deepEqual(policy.score({ nodes, job, params: { ...params, ...more } }).losses, want);
  f(fleet, {}, {}, [0.1, 0.4, 1, 1]);
  f(fleet, { default_price: 0 }, {}, [0.25, 1, 0, 0]);
  f(fleet, { default_price: 2 }, {}, [0.25, 1, 0.5, 0.5]);
  f(fleet, { price_3: 1000 }, {}, [0.1, 0.4, 1, 1]); // a price without a value is nobody's
  f(fleet, { value_4: "gold", price_4: 20 }, {}, [0.05, 0.2, 1, 0.5]);
  f(fleet, { value_1: "gold" }, {}, [1, 0.4, 0.1, 1]);
  f(fleet, { price_1: 0, price_2: 0, default_price: 0 }, {}, [0, 0, 0, 0]);
});

test("the run time weighs the price where asked for", () => {
  const f = (more, run_time, want) =>
    assert.deepEqual(policy.score({ nodes: fleet.slice(0, 3), job: { run_time }, params: { ...params, ...more } }).losses, want);
  f({}, hours(0.5), [0.1, 0.4, 1]);
  f({ per_hour_of_run: true }, hours(0.5), [0.05, 0.2, 0.5]);
  f({ per_hour_of_run: true }, hours(7), [0.1, 0.4, 1]);
  f({ per_hour_of_run: true }, 0, [0.1, 0.4, 1]); // not declared
  f({ per_hour_of_run: true, full_hours: 8 }, hours(2), [0.025, 0.1, 0.25]);
});

test("a young node costs more", () => {
  const nodes = [node("spot", { age: 59999 }), node("spot", { age: 60000 }), node("gold", { age: 0 })];
  const f = (more, want) => assert.deepEqual(policy.score({ nodes, params: { ...params, ...more } }).losses, want);
  f({ warmup_ms: 60000, warmup_price: 10 }, [11 / 20, 1 / 20, 1]);
  f({ warmup_ms: 60000 }, [0.1, 0.1, 1]);
  f({ warmup_price: 10 }, [0.1, 0.1, 1]); // no warm-up time: nobody is young
});

test("jitter stays within its share and follows seed and state", () => {
  const nodes = Array.from({ length: 400 }, (_, i) => node("reserved", { "allocated:cpu": 250 * i, running_tasks: i % 7 }));
  const run = (seed, jitter = 0.1) => policy.score({ nodes, job: { seed }, params: { ...params, jitter } }).losses;
  const losses = run(7n);
  assert.ok(losses.every((x) => x >= 0.4 / 1.1 && x < 0.5 / 1.1));
  assert.ok(new Set(losses).size > 395, "equal prices spread");
  assert.deepEqual(run(7n), losses);
  const other = run(8n);
  assert.ok(losses.filter((x, i) => x === other[i]).length < 5, "another seed, another order");
  const mean = losses.reduce((sum, x) => sum + (x * 1.1 - 0.4) / 0.1, 0) / losses.length;
  assert.ok(Math.abs(mean - 0.5) < 0.05, `mean of the jitter: ${mean}`);
  // A dear node stays behind a cheap one that is more than the jitter cheaper.
  const pair = policy.score({ nodes: [node("spot"), node("reserved")], job: { seed: 3 }, params: { ...params, jitter: 0.1 } }).losses;
  assert.ok(pair[0] < pair[1]);
});

// Random settings: within loss_range, which the harness checks, and the same for
// a row alone as among others.
test("any settings keep to the range, row by row", () => {
  let state = 12345;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const tiers = ["spot", "reserved", "gold", "base", "", undefined];
  for (let round = 0; round < 200; round++) {
    const nodes = Array.from({ length: 20 }, () =>
      node(tiers[Math.floor(random() * 6)], { age: random() * 2e5, "allocated:cpu": random() * 1e5, running_tasks: Math.floor(random() * 9) }));
    const settings = { default_price: random() * 10, warmup_ms: random() * 1e5, warmup_price: random() * 5, jitter: random() / 10, per_hour_of_run: random() < 0.5 };
    for (let i = 1; i <= 4; i++) Object.assign(settings, { [`value_${i}`]: tiers[Math.floor(random() * 5)], [`price_${i}`]: random() * 10 });
    const job = { seed: Math.floor(random() * 1e9), run_time: Math.floor(random() * 1e7) };
    const { losses } = policy.score({ nodes, job, params: settings });
    const row = Math.floor(random() * nodes.length);
    assert.deepEqual(policy.score({ nodes: [nodes[row]], job, params: settings }).losses, [losses[row]]);
  }
});
