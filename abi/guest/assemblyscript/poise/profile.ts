import { AmountColumn } from "./columns";
import { wantsProfile } from "./manifest";
import { Table } from "./table";
import { Sym, View } from "./view";

// ProfileBlock is the declared wish to see what jobs have been asking for.
export class ProfileBlock {
  @inline
  of(table: Table): Profile {
    return changetype<Profile>(table.profile);
  }
}

export function profile(): ProfileBlock {
  wantsProfile();
  return new ProfileBlock();
}

// Profile is the kinds of task that jobs have been asking for, by falling count.
@unmanaged
export class Profile {
  epoch: u64; // another number, other shapes
  totalCount: f64; // jobs, those of shapes that were left out included
  totalWeight: f64;
  count: u32; // shapes; at(i) gives them
  private stride: u32;
  private list: usize;

  @inline
  at(i: u32): Shape {
    return changetype<Shape>(this.list + <usize>(i * this.stride));
  }
}

// Shape is one kind of task.
@unmanaged
export class Shape {
  count: f64;
  weight: f64; // count x (1 + deviceCount)
  deviceCount: u32;
  deviceMilli: u32; // on each
  modelCount: u32; // allowed device models, 0 = any
  private modelList: usize;

  @inline
  get models(): View<Sym> {
    return changetype<View<Sym>>(this.modelList);
  }

  @inline
  request(column: AmountColumn): f64 {
    return load<f64>(changetype<usize>(this) + (<usize>column.dim << 3), 32);
  }
}
