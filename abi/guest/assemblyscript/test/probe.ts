// A policy that answers with what it reads: parameter `what` names it, `i` and
// `j` pick an element. Its tests compare that with what was laid out.

import {
  Job, Out, Sym, Table, age, allocated, boolParam, capacity, choosesDevices, deviceModel, devices, domain, enumParam,
  f64Param, i64Param, jobTasks, label, lossRange, nodeClass, plugin, priority, profile, reason, runTime, runningTasks,
  seed, selectors, symParam, taints, taskIndex, tasks, tenant, tenantTasks,
} from "poise";
export * from "poise/exports";

plugin("probe", "1.0.0", 'says "what it reads" \\ Größe');
const zone = label("zone"); // labels stand after the columns, whatever is declared first
const memoryUsed = allocated("memory");
const cpuCapacity = capacity("cpu");
const cpuUsed = allocated("cpu");
const inClass = nodeClass();
const tainted = taints();
const matches = selectors();
const gpus = devices();
const npus = devices("npu");
const model = deviceModel();
const running = runningTasks();
const ofTenant = tenantTasks();
const ofJob = jobTasks();
const since = age();
const rack = domain("rack");
const zones = domain("zone");
const shapes = profile();

const what = enumParam("what", [
  "columns", "masks", "devices", "fleet", "job", "fields", "params", "rack", "zone", "profile", "candidates",
]);
const i = i64Param("i", 0, 0, 1000);
const flag = boolParam("flag", true);
const share = f64Param("share", 0.25, -1, 1e300);
const given = f64Param("given");
const text = symParam("text", "a");

const jobPriority = priority();
const jobTenant = tenant();
const jobSeed = seed();
const jobRunTime = runTime();
const jobSize = tasks();
const jobIndex = taskIndex();

const tooOld = reason("too old");
const wrongZone = reason('not in zone "a"');
choosesDevices();
lossRange(-1e300, 1e300);

export function poise_filter(table: Table, job: Job, out: Out): i32 {
  const ages = since.of(table);
  const zoneOf = zone.of(table);
  const reasons = out.reasons;
  for (let row: u32 = 0; row < table.rows; row++) {
    reasons[row] = ages[row] > 100 ? tooOld : zoneOf[row] != text.of(table) ? wrongZone : 0;
  }
  return 0;
}

function id(x: Sym): f64 {
  return <f64>(<u32>changetype<usize>(x));
}

function read(table: Table, job: Job, row: u32, n: u32): f64 {
  switch (what.of(table)) {
    case 0:
      switch (n) {
        case 0: return id(zone.of(table)[row]);
        case 1: return memoryUsed.of(table)[row];
        case 2: return cpuCapacity.of(table)[row];
        case 3: return cpuUsed.of(table)[row];
        case 4: return id(inClass.of(table)[row]);
        case 5: return <f64>tainted.of(table)[row];
        case 6: return <f64>matches.of(table)[row];
        case 7: return id(model.of(table)[row]);
        case 8: return running.of(table)[row];
        case 9: return ofTenant.of(table)[row];
        case 10: return ofJob.of(table)[row];
        default: return since.of(table)[row];
      }
    case 2: {
      const mine = gpus.of(table).row(row, table.slots);
      switch (n) {
        case 0: return mine.total(table.slots);
        case 1: return mine.enough(500, table.slots);
        case 2: return mine.tightest(400, table.slots);
        case 3: return mine.lowest(2, 500, table.slots);
        case 4: return mine[1];
        default: return npus.of(table).row(row, table.slots).total(table.slots);
      }
    }
    case 3:
      switch (n) {
        case 0: return table.fleet.nodes;
        case 1: return table.fleet.sum(cpuCapacity);
        case 2: return table.fleet.largest(cpuUsed);
        default: return table.fleet.largest(memoryUsed);
      }
    case 4:
      switch (n) {
        case 0: return job.deviceCount;
        case 1: return job.deviceMilli;
        case 2: return id(job.deviceKind);
        case 3: return job.modelCount;
        case 4: return id(job.models[1]);
        case 5: return job.selectors;
        case 6: return job.request(cpuCapacity);
        default: return job.request(memoryUsed);
      }
    case 5:
      switch (n) {
        case 0: return <f64>jobPriority.of(job);
        case 1: return id(jobTenant.of(job));
        case 2: return <f64>(jobSeed.of(job) >> 32);
        case 3: return <f64>jobRunTime.of(job);
        case 4: return <f64>jobSize.of(job);
        default: return <f64>jobIndex.of(job);
      }
    case 6:
      switch (n) {
        case 0: return <f64>i.of(table);
        case 1: return flag.of(table) ? 1 : 0;
        case 2: return share.of(table);
        case 3: return given.of(table);
        default: return id(text.of(table));
      }
    case 7:
    case 8: {
      const domain = (what.of(table) == 7 ? rack : zones).of(table);
      const found = domain.find(text.of(table));
      switch (n) {
        case 0: return domain.count;
        case 1: return domain.absent;
        case 2: return domain.minTenantTasks;
        case 3: return domain.maxTenantTasks;
        case 4: return domain.minJobTasks;
        case 5: return domain.maxJobTasks;
        case 6: return domain.minNodes;
        case 7: return domain.maxNodes;
        case 8: return found ? found.nodes : -1;
        case 9: return found ? found.tenantTasks : -1;
        case 10: return found ? found.jobTasks : -1;
        case 11: return found ? found.capacity(cpuCapacity) : -1;
        default: return found ? found.allocated(memoryUsed) : -1;
      }
    }
    case 9: {
      const all = shapes.of(table);
      const last = all.at(all.count - 1);
      switch (n) {
        case 0: return all.totalCount;
        case 1: return all.totalWeight;
        case 2: return all.count;
        case 3: return last.count;
        case 4: return last.weight;
        case 5: return last.deviceCount;
        case 6: return last.deviceMilli;
        case 7: return last.modelCount;
        case 8: return id(last.models[0]);
        case 9: return last.request(memoryUsed);
        default: return <f64>all.epoch;
      }
    }
    default:
      return table.candidate(row) ? 1 : 0;
  }
}

export function poise_score(table: Table, job: Job, out: Out): i32 {
  for (let row: u32 = 0; row < table.rows; row++) {
    out.losses[row] = read(table, job, row, <u32>i.of(table));
    const mine = gpus.of(table).row(row, table.slots);
    out.masks[row] = what.of(table) == 1 ? 0b10 : mine.lowest(job.deviceCount, job.deviceMilli, table.slots);
  }
  return 0;
}
