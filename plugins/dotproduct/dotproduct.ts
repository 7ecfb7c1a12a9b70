// DotProd of Weng et al. (USENIX ATC 2023): the node whose idle resources and the
// request have the least dot product, over cpu and the sum of the devices.

import { Job, Out, Table, allocated, capacity, devices, f64Param, plugin, rowPure } from "poise";
export * from "poise/exports";

plugin("dotproduct", "1.0.0", "DotProd: least dot product of idle resources and request, over cpu and devices");
const cpuCapacity = capacity("cpu");
const cpuAllocated = allocated("cpu");
const gpus = devices();
const cpuMax = f64Param("cpu_max", 128000, 1, 1e12);
const devicesMax = f64Param("devices_max", 8000, 1, 1e12);
rowPure();

export function poise_score(table: Table, job: Job, out: Out): i32 {
  const has = cpuCapacity.of(table);
  const used = cpuAllocated.of(table);
  const free = gpus.of(table);
  const losses = out.losses;
  const slots = table.slots;
  const mostCPU = cpuMax.of(table);
  const mostDevices = devicesMax.of(table);
  const askedCPU = job.request(cpuCapacity) / mostCPU;
  const askedDevices = <f64>(job.deviceCount * job.deviceMilli) / mostDevices;
  for (let row: u32 = 0, rows = table.rows; row < rows; row++) {
    const cpu = max(has[row] - used[row], 0) / mostCPU;
    const device = <f64>free.row(row, slots).total(slots) / mostDevices;
    const x = cpu * askedCPU + device * askedDevices;
    losses[row] = 100 - trunc(100 * (1 - x / 2));
  }
  return 0;
}
