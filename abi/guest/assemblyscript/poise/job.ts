import { AmountColumn } from "./columns";
import { addField } from "./manifest";
import { Sym, View } from "./view";

// Job is the second argument of a call. Fields stand as in the contract.
@unmanaged
export class Job {
  private size: u32;
  deviceCount: u32; // devices asked for, 0 = none
  deviceMilli: u32; // on each; 1000 = whole devices, less = a share of one
  private kind: u32;
  modelCount: u32; // allowed device models, 0 = any
  private modelList: usize;
  selectors: u32;
  private fieldCount: u32;
  fields: usize;
  private dims: u32;
  private requests: usize;

  // deviceKind is "gpu" or another device resource, absent without devices.
  @inline
  get deviceKind(): Sym {
    return changetype<Sym>(<usize>this.kind);
  }

  // models are the modelCount allowed device models.
  @inline
  get models(): View<Sym> {
    return changetype<View<Sym>>(this.modelList);
  }

  // request is what a task asks for of the column's dimension.
  @inline
  request(column: AmountColumn): f64 {
    return load<f64>(this.requests + (<usize>column.dim << 3));
  }
}

// Field is one declared field of the job.
export class Field<T> {
  constructor(private index: u32) {}

  @inline
  of(job: Job): T {
    return load<T>(job.fields + (<usize>this.index << 3));
  }
}

// priority: larger is more urgent.
export function priority(): Field<i64> {
  return new Field<i64>(addField("priority"));
}

// tasks is how many tasks the job has.
export function tasks(): Field<i64> {
  return new Field<i64>(addField("tasks"));
}

// taskIndex is which of them this is, from 0; not with rowPure.
export function taskIndex(): Field<i64> {
  return new Field<i64>(addField("task_index"));
}

export function tenant(): Field<Sym> {
  return new Field<Sym>(addField("tenant"));
}

// runTime is in milliseconds, 0 = not declared.
export function runTime(): Field<i64> {
  return new Field<i64>(addField("run_time"));
}

// seed is the same in every attempt at the job; not with rowPure.
export function seed(): Field<u64> {
  return new Field<u64>(addField("seed"));
}
