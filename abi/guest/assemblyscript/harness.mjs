// Runs a policy without Poise: lays a table out in the module's memory as the
// host does, calls an export and checks the answer as the host does. Needs Node
// and nothing else. A module with an import does not load here either.
//
//   const policy = load("policy.wasm");
//   policy.score({
//     nodes: [{ "capacity:cpu": 8000, devices: [1000, 500], labels: { zone: "a" } }],
//     job: { request: { cpu: 2000 }, devices: { count: 1, milli: 500 }, seed: 7 },
//     params: { weight: 2 },
//   }).losses

import { readFileSync } from "node:fs";
import { freeDevices, layOut, MAGIC } from "./layout.mjs";

export function load(path) {
  return new Policy(new WebAssembly.Module(readFileSync(path)));
}

// checkMask refuses a mask that does not name as many devices as asked for, each
// with enough free. 0 leaves the choice to the host.
function checkMask(mask, row, node, { count = 0, milli = 1000, kind = "gpu" }) {
  if (mask === 0) return;
  const free = freeDevices(node, kind);
  const taken = Array.from({ length: 32 }, (_, d) => d).filter((d) => (mask >>> d) & 1);
  if (taken.length !== count || taken.some((d) => !(free[d] >= milli))) {
    throw new Error(`devices of node ${row}: [${taken}] of [${free}], expected ${count} with ${milli} free`);
  }
}

class Policy {
  constructor(module) {
    this.module = module;
    const { memory, poise_describe } = this.#instance();
    const view = new DataView(memory.buffer);
    const at = poise_describe();
    const text = new Uint8Array(memory.buffer, view.getUint32(at, true), view.getUint32(at + 4, true));
    this.manifest = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text));
  }

  // score gives { losses, masks }, an element per node.
  score(scene) {
    const { memory, at, rows } = this.#call("poise_score", scene);
    const view = new DataView(memory.buffer);
    const losses = rows.map((_, row) => view.getFloat64(at.values + 8 * row, true));
    const [low, high] = this.manifest.loss_range ?? [-Infinity, Infinity];
    losses.forEach((loss, row) => {
      if (!Number.isFinite(loss) || loss < low || loss > high) {
        throw new Error(`loss of node ${row}: ${loss}, expected a finite number from ${low} to ${high}`);
      }
    });
    const masks = at.masks ? rows.map((_, row) => view.getUint32(at.masks + 4 * row, true)) : rows.map(() => 0);
    masks.forEach((mask, row) => checkMask(mask, row, rows[row], scene.job?.devices ?? {}));
    return { losses, masks };
  }

  // filter gives the reason of each node as text, "" where it is kept.
  filter(scene) {
    const { memory, at, rows } = this.#call("poise_filter", scene);
    const view = new DataView(memory.buffer);
    return rows.map((_, row) => {
      const code = view.getUint32(at.values + 4 * row, true);
      const text = code === 0 ? "" : this.manifest.reasons?.[code];
      if (text === undefined) throw new Error(`reason of node ${row}: ${code}, expected 0 or a code of the manifest`);
      return text;
    });
  }

  // Every call gets an instance of its own, as if each job were the first.
  #call(name, scene) {
    const exports = this.#instance();
    if (!exports[name]) throw new Error(`${name}: not exported`);
    const at = layOut(this.manifest, scene, exports.memory, exports.poise_alloc);
    const status = exports[name](at.table, at.job, at.out);
    if (status !== 0) throw new Error(`${name}: result ${status}, expected 0`);
    if (new DataView(exports.memory.buffer).getUint32(at.table, true) !== MAGIC) {
      throw new Error(`${name}: wrote over the table`);
    }
    return { memory: exports.memory, at, rows: scene.nodes };
  }

  #instance() {
    const { exports } = new WebAssembly.Instance(this.module, {});
    exports._initialize?.();
    if (exports.poise_abi_v1() !== 0) throw new Error("poise_abi_v1: expected 0");
    return exports;
  }
}
