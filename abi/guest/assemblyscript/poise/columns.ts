import { addColumn, addLabel, columnCount, dimension } from "./manifest";
import { Table } from "./table";
import { Sym, View } from "./view";

// Bits of a row of taints(). No candidate has the third.
export const TAINT_NO_SCHEDULE: u64 = 1;
export const TAINT_NO_EXECUTE: u64 = 2;
export const TAINT_UNTOLERATED: u64 = 4;

// Column is one declared column with elements of type T.
export class Column<T> {
  constructor(private index: u32, private isLabel: bool = false) {}

  // of gives the column of this call: take it once, before the loop.
  @inline
  of(table: Table): View<T> {
    return changetype<View<T>>(table.column(this.isLabel ? columnCount() + this.index : this.index));
  }
}

// AmountColumn is an amount of one resource dimension per row, in base units
// (milli-cores, bytes, milli-units).
export class AmountColumn extends Column<f64> {
  // dim is the index of the dimension in requests, fleet, domains and profile.
  constructor(index: u32, public dim: u32) {
    super(index);
  }
}

// capacity is what the nodes have of a resource.
export function capacity(resource: string): AmountColumn {
  return new AmountColumn(addColumn("capacity:" + resource), dimension(resource));
}

// allocated is what the tasks on the nodes asked for; it may exceed capacity.
export function allocated(resource: string): AmountColumn {
  return new AmountColumn(addColumn("allocated:" + resource), dimension(resource));
}

// label is the value of a label, absent where the node does not have it.
export function label(key: string): Column<Sym> {
  return new Column<Sym>(addLabel(key), true);
}

// nodeClass is the name of the class, absent where the node has none.
export function nodeClass(): Column<Sym> {
  return new Column<Sym>(addColumn("class"));
}

export function taints(): Column<u64> {
  return new Column<u64>(addColumn("taints"));
}

// selectors has bit i set where selector i of the job matches.
export function selectors(): Column<u64> {
  return new Column<u64>(addColumn("selectors"));
}

export function deviceModel(resource: string = "gpu"): Column<Sym> {
  return new Column<Sym>(addColumn("device_model:" + resource));
}

export function runningTasks(): Column<u32> {
  return new Column<u32>(addColumn("running_tasks"));
}

// tenantTasks is how many of them are of the job's tenant.
export function tenantTasks(): Column<u32> {
  return new Column<u32>(addColumn("tenant_tasks"));
}

// jobTasks is how many of them are of this job, tentative ones included.
export function jobTasks(): Column<u32> {
  return new Column<u32>(addColumn("job_tasks"));
}

// age is the milliseconds since the node joined; not with rowPure.
export function age(): Column<f64> {
  return new Column<f64>(addColumn("age"));
}
