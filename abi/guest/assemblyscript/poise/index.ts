// The Poise SDK for AssemblyScript: what a policy imports. A policy declares its
// columns, parameters and reasons once, at the top level of its module; the SDK
// makes the manifest of these declarations while the module is set up, and each
// declaration is the typed way to what it declares. Nothing here allocates while
// a call runs. The entry module also says: export * from "poise/exports".

export { plugin, reason, rowPure, choosesDevices, lossRange, seededTies } from "./manifest";
export { View, Sym } from "./view";
export {
  Column, AmountColumn, capacity, allocated, label, nodeClass, taints, selectors, deviceModel,
  runningTasks, tenantTasks, jobTasks, age, TAINT_NO_SCHEDULE, TAINT_NO_EXECUTE, TAINT_UNTOLERATED,
} from "./columns";
export { DevicesColumn, DeviceRows, Devices, devices } from "./devices";
export { Param, f64Param, i64Param, boolParam, symParam, enumParam } from "./params";
export { Table, Fleet, Out } from "./table";
export { Job, Field, priority, tasks, taskIndex, tenant, runTime, seed } from "./job";
export { DomainKey, Domain, DomainValue, domain } from "./domains";
export { ProfileBlock, Profile, Shape, profile } from "./profile";
