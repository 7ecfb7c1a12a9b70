// The blocks of a call, laid out one after the other as the host does it. A
// scene is plain data:
//
//   nodes    one object per row: columns by their names in the manifest, and
//            labels: {key: text}; what is absent is 0 or ""
//   job      request: {dimension: amount}, devices: {count, milli, kind, models},
//            selectors: number, and the job fields by name
//   params   values by name, else the defaults
//   fleet    all nodes, where they are more than nodes: for fleet and domains
//   profile  shapes in order: {count, request, devices}
//
// Amounts are in base units. A key that the contract does not know is refused.

export const MAGIC = 0x53494f50;

const plain = { class: 4, taints: 8, selectors: 8, running_tasks: 4, tenant_tasks: 4, job_tasks: 4, age: 8 };
const kinds = {
  capacity: 1, allocated: 2, class: 3, label: 4, taints: 5, selectors: 6, devices: 7, device_model: 8,
  running_tasks: 9, tenant_tasks: 10, job_tasks: 11, age: 12,
};

// parse gives the word and the name of a column; "devices" means "devices:gpu".
function parse(text) {
  const [word, ...rest] = text.split(":");
  const name = rest.join(":");
  if (word in plain && rest.length === 0) return { word, name, full: text };
  if ((word === "devices" || word === "device_model") && rest.length === 0) return { word, name: "gpu", full: `${word}:gpu` };
  if (["capacity", "allocated", "devices", "device_model"].includes(word) && name) return { word, name, full: text };
  throw new Error(`column ${JSON.stringify(text)}: unknown`);
}

// cells gives a node's values by full column name, and its labels.
function cells(node) {
  const found = { labels: node.labels ?? {} };
  for (const [key, value] of Object.entries(node)) {
    if (key !== "labels") found[parse(key).full] = value;
  }
  return found;
}

// freeDevices gives the free amounts of a node's devices of a kind.
export function freeDevices(node, kind) {
  return cells(node)[`devices:${kind}`] ?? [];
}

const up = (size) => (size + 7) & ~7;
const bigint = (value) => BigInt.asUintN(64, BigInt(value));

// layOut writes all blocks of a scene and gives the pointers to table, job, out,
// values and masks.
export function layOut(manifest, scene, memory, alloc) {
  const { nodes, job = {}, params = {}, profile = [] } = scene;
  const fleet = (scene.fleet ?? nodes).map(cells);
  const rows = nodes.map(cells);
  const declared = (manifest.columns ?? []).map(parse);
  const columns = [...declared, ...(manifest.labels ?? []).map((key) => ({ word: "label", name: key }))];
  const dims = [...new Set(declared.filter((c) => c.word === "capacity" || c.word === "allocated").map((c) => c.name))];
  const slots = Math.max(0, ...columns.filter((c) => c.word === "devices").flatMap((c) => rows.map((r) => r[c.full]?.length ?? 0)));

  // Two rounds over the same code: the first counts, the second writes.
  const symbols = new Map([["", 0]]);
  const sym = (text = "") => symbols.get(text) ?? (symbols.set(text, 1000 + symbols.size), symbols.get(text));
  let size = 0;
  let base = 0;
  let view = null;
  const take = (bytes, write) => {
    const at = base + size;
    size += up(bytes);
    if (view) write(at);
    return at;
  };
  const u32 = (at, ...values) => values.forEach((v, i) => view.setUint32(at + 4 * i, v, true));
  const f64 = (at, ...values) => values.forEach((v, i) => view.setFloat64(at + 8 * i, v, true));
  const u64 = (at, v) => view.setBigUint64(at, bigint(v), true);
  const amounts = (request = {}) => dims.map((d) => request[d] ?? 0);

  const column = (c) => {
    const stride = { capacity: 8, allocated: 8, label: 4, device_model: 4, devices: 2 * slots }[c.word] ?? plain[c.word];
    const at = take(stride * rows.length, (start) => rows.forEach((row, i) => {
      const cell = start + stride * i;
      const value = c.word === "label" ? row.labels[c.name] : row[c.full];
      if (c.word === "label" || c.word === "class" || c.word === "device_model") u32(cell, sym(value));
      else if (c.word === "devices") (value ?? []).forEach((free, d) => view.setUint16(cell + 2 * d, free, true));
      else if (c.word === "taints" || c.word === "selectors") u64(cell, value ?? 0);
      else if (stride === 8) f64(cell, value ?? 0);
      else u32(cell, value ?? 0);
    }));
    return { kind: kinds[c.word], at, stride };
  };

  const param = (at, p) => {
    const value = params[p.name] ?? p.default;
    if (value === undefined) throw new Error(`parameter ${p.name}: not given`);
    if (p.type === "f64") f64(at, Number(value));
    else if (p.type === "symbol") u64(at, sym(value));
    else if (p.type === "enum") u64(at, p.values.indexOf(value));
    else u64(at, value === "true" ? 1 : value === "false" ? 0 : value);
  };
  for (const name of Object.keys(params)) {
    if (!(manifest.params ?? []).some((p) => p.name === name)) throw new Error(`parameter ${name}: not declared`);
  }

  const tally = (key) => {
    const values = new Map();
    let absent = 0;
    for (const node of fleet) {
      const text = node.labels[key];
      if (!text) {
        absent++;
        continue;
      }
      const sum = values.get(text) ?? { symbol: sym(text), nodes: 0, tenant: 0, job: 0, amounts: new Array(2 * dims.length).fill(0) };
      values.set(text, sum);
      sum.nodes++;
      sum.tenant += node.tenant_tasks ?? 0;
      sum.job += node.job_tasks ?? 0;
      dims.forEach((d, i) => {
        sum.amounts[i] += node[`capacity:${d}`] ?? 0;
        sum.amounts[dims.length + i] += node[`allocated:${d}`] ?? 0;
      });
    }
    return { absent, values: [...values.values()].sort((a, b) => a.symbol - b.symbol) };
  };
  const extremes = (list) => (list.length ? [Math.min(...list), Math.max(...list)] : [0, 0]);

  const round = () => {
    size = 0;
    const table = take(64, () => {});
    const descriptors = take(16 * columns.length, () => {});
    const wanted = manifest.params ?? [];
    const paramsAt = take(8 * wanted.length, (at) => wanted.forEach((p, i) => param(at + 8 * i, p)));

    const fields = manifest.job_fields ?? [];
    const { count = 0, milli = count ? 1000 : 0, kind = count ? "gpu" : "", models = [] } = job.devices ?? {};
    const fieldsAt = take(8 * fields.length, (at) => fields.forEach((f, i) => u64(at + 8 * i, f === "tenant" ? sym(job[f]) : job[f] ?? 0)));
    const requestAt = take(8 * dims.length, (at) => f64(at, ...amounts(job.request)));
    const modelsAt = take(4 * models.length, (at) => u32(at, ...models.map(sym)));
    const jobAt = take(48, (at) =>
      u32(at, 48, count, milli, sym(kind), models.length, modelsAt, job.selectors ?? 0, fields.length, fieldsAt, dims.length, requestAt, 0));

    const listAt = take(16 * dims.length, (at) => dims.forEach((d, i) => {
      const has = fleet.map((node) => node[`capacity:${d}`] ?? 0);
      f64(at + 16 * i, has.reduce((a, b) => a + b, 0), Math.max(0, ...has));
    }));
    const fleetAt = take(16, (at) => u32(at, fleet.length, dims.length, 16, listAt));

    const keys = (manifest.domains ?? []).map(tally);
    const valueStride = 16 + 16 * dims.length;
    const lists = keys.map((key) => take(valueStride * key.values.length, (at) => key.values.forEach((v, i) => {
      u32(at + valueStride * i, v.symbol, v.nodes, v.tenant, v.job);
      f64(at + valueStride * i + 16, ...v.amounts);
    })));
    const keysAt = take(48 * keys.length, (at) => keys.forEach((key, i) => {
      const least = ["tenant", "job", "nodes"].flatMap((what) => extremes(key.values.map((v) => v[what])));
      u32(at + 48 * i, key.values.length, lists[i], valueStride, key.absent, ...least);
    }));
    const domainsAt = keys.length ? take(16, (at) => u32(at, keys.length, keysAt, 48, dims.length)) : 0;

    const shapeStride = 32 + 8 * dims.length;
    let profileAt = 0;
    if (manifest.wants_profile) {
      const weight = (s) => s.count * (1 + (s.devices?.count ?? 0));
      const sum = (of) => profile.reduce((total, s) => total + of(s), 0);
      const models = profile.map((s) => take(4 * (s.devices?.models ?? []).length, (at) => u32(at, ...(s.devices?.models ?? []).map(sym))));
      const shapesAt = take(shapeStride * profile.length, (start) => profile.forEach((s, i) => {
        const at = start + shapeStride * i;
        const { count = 0, milli = count ? 1000 : 0, models: allowed = [] } = s.devices ?? {};
        f64(at, s.count, weight(s));
        u32(at + 16, count, milli, allowed.length, models[i]);
        f64(at + 32, ...amounts(s.request));
      }));
      profileAt = take(40, (at) => {
        u64(at, 1);
        f64(at + 8, sum((s) => s.count), sum(weight));
        u32(at + 24, profile.length, shapeStride, shapesAt, dims.length);
      });
    }

    const candidates = take(8 * Math.ceil(rows.length / 64), (at) => rows.forEach((_, row) => {
      view.setUint8(at + (row >> 3), view.getUint8(at + (row >> 3)) | (1 << (row & 7)));
    }));
    const placed = columns.map(column);
    const values = take(8 * rows.length, () => {});
    const masks = manifest.chooses_devices ? take(4 * rows.length, () => {}) : 0;
    const out = take(16, (at) => u32(at, values, masks, rows.length, 0));
    if (view) {
      u32(table, MAGIC, 0, rows.length, rows.length, columns.length, dims.length, candidates, wanted.length ? paramsAt : 0,
        fleetAt, domainsAt, profileAt, slots, descriptors, wanted.length, 0, 0);
      placed.forEach((c, i) => u32(descriptors + 16 * i, c.kind, c.at, c.stride, 0));
    }
    return { table, job: jobAt, out, values, masks };
  };

  round();
  base = alloc(size, 8);
  if (base === 0 || base % 8 !== 0) throw new Error(`poise_alloc: ${base}, expected a multiple of 8`);
  view = new DataView(memory.buffer);
  return round();
}
