// The price of a node, by its label "tier": cheap nodes first. Meant to be
// combined by weight with the native loss, so all losses lie in [0, 1].

import {
  Job, Out, Sym, Table, age, allocated, boolParam, f64Param, label, lossRange, plugin, runTime, runningTasks, seed,
  seededTies, symParam, taskIndex, tasks,
} from "poise";
export * from "poise/exports";

// Prices are far below what f64 can hold, so that no sum of them is infinite.
const DEAREST: f64 = 1e12;
const HOUR: f64 = 3600000;

plugin("cost", "1.0.0", "price of the node's tier: cheap nodes first, warm ones before fresh ones");
const cpuAllocated = allocated("cpu");
const running = runningTasks();
const sinceJoined = age();
const tier = label("tier");

const value1 = symParam("value_1");
const value2 = symParam("value_2");
const value3 = symParam("value_3");
const value4 = symParam("value_4");
const price1 = f64Param("price_1", 0, 0, DEAREST);
const price2 = f64Param("price_2", 0, 0, DEAREST);
const price3 = f64Param("price_3", 0, 0, DEAREST);
const price4 = f64Param("price_4", 0, 0, DEAREST);
const defaultPrice = f64Param("default_price", 1, 0, DEAREST);
const perHour = boolParam("per_hour_of_run", false);
const fullHours = f64Param("full_hours", 1, 0.001, 1e6);
const warmup = f64Param("warmup_ms", 0, 0, DEAREST);
const warmupPrice = f64Param("warmup_price", 0, 0, DEAREST);
const jitter = f64Param("jitter", 0, 0, 0.1);

const ranFor = runTime();
const jobSeed = seed();
const ofTasks = tasks();
const which = taskIndex();
lossRange(0, 1);
seededTies();

// priced gives the price of a tier that is set, else 0: it is never the dearest.
@inline
function priced(value: Sym, price: f64): f64 {
  return value.present ? price : 0;
}

// share is how much the price counts for the job: in full, or as the part that
// its run time is of full_hours. A job that does not say how long counts in full.
@inline
function share(table: Table, job: Job): f64 {
  const ms = ranFor.of(job);
  if (!perHour.of(table) || ms <= 0) return 1;
  return min(<f64>ms / HOUR / fullHours.of(table), 1);
}

// unit is a number in [0, 1) from the seed and what tells one node's state from
// another's. The mixing is that of splitmix64.
@inline
function unit(seed: u64, allocated: f64, tasks: u32): f64 {
  let x = seed ^ (reinterpret<u64>(allocated) * 0x9e3779b97f4a7c15) ^ (<u64>tasks << 17);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return <f64>((x ^ (x >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}

export function poise_score(table: Table, job: Job, out: Out): i32 {
  const tiers = tier.of(table);
  const ages = sinceJoined.of(table);
  const used = cpuAllocated.of(table);
  const onNode = running.of(table);
  const losses = out.losses;

  const a = value1.of(table), b = value2.of(table), c = value3.of(table), d = value4.of(table);
  const priceA = price1.of(table), priceB = price2.of(table), priceC = price3.of(table), priceD = price4.of(table);
  const other = defaultPrice.of(table);
  const young = warmup.of(table);
  const extra = young > 0 ? warmupPrice.of(table) : 0;
  const dearest = max(max(max(priced(a, priceA), priced(b, priceB)), max(priced(c, priceC), priced(d, priceD))), other) + extra;
  const part = share(table, job);
  const noise = jitter.of(table);
  // The tasks of one job spread as different jobs do.
  const from = jobSeed.of(job) + (ofTasks.of(job) > 1 ? <u64>which.of(job) * 0x9e3779b97f4a7c15 : 0);

  for (let row: u32 = 0, rows = table.rows; row < rows; row++) {
    const is = tiers[row];
    let price = other;
    if (is.present) {
      if (is == a) price = priceA;
      else if (is == b) price = priceB;
      else if (is == c) price = priceC;
      else if (is == d) price = priceD;
    }
    if (ages[row] < young) price += extra;
    let loss = dearest > 0 ? (price / dearest) * part : 0;
    if (noise > 0) loss = (loss + noise * unit(from, used[row], onNode[row])) / (1 + noise);
    losses[row] = loss;
  }
  return 0;
}
