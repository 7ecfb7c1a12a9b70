import { AmountColumn } from "./columns";
import { View } from "./view";

// Table is the first argument of a call. Fields stand as in the contract.
@unmanaged
export class Table {
  private magic: u32;
  minor: u32; // version of the host's table
  rows: u32; // of this call
  private rowCapacity: u32;
  private columns: u32;
  private dims: u32;
  private candidates: usize;
  params: usize;
  private fleetAt: usize;
  domains: usize;
  profile: usize;
  slots: u32; // devices per row
  private descriptors: usize;

  // column gives the pointer to row 0 of a column.
  @inline
  column(index: u32): usize {
    return load<u32>(this.descriptors + (<usize>index << 4), 4);
  }

  // candidate says whether the host reads the answer of this row. A policy need
  // not ask: it may answer for all rows.
  @inline
  candidate(row: u32): bool {
    return <bool>((load<u8>(this.candidates + (<usize>row >> 3)) >> (row & 7)) & 1);
  }

  @inline
  get fleet(): Fleet {
    return changetype<Fleet>(this.fleetAt);
  }
}

// Fleet is all nodes together, whichever rows a call sees.
@unmanaged
export class Fleet {
  nodes: u32;
  private dims: u32;
  private stride: u32;
  private list: usize;

  // sum is the sum of the capacities of the column's dimension.
  @inline
  sum(column: AmountColumn): f64 {
    return load<f64>(this.list + (<usize>column.dim << 4));
  }

  // largest is the largest capacity of the column's dimension.
  @inline
  largest(column: AmountColumn): f64 {
    return load<f64>(this.list + (<usize>column.dim << 4), 8);
  }
}

// Out is the third argument: where answers go, one per row. Take the view once,
// before the loop.
@unmanaged
export class Out {
  private values: usize;
  private deviceMasks: usize;

  // losses is for poise_score: finite numbers, smaller is better.
  @inline
  get losses(): View<f64> {
    return changetype<View<f64>>(this.values);
  }

  // reasons is for poise_filter: 0 keeps the row, a code of reason() refuses it.
  @inline
  get reasons(): View<u32> {
    return changetype<View<u32>>(this.values);
  }

  // masks is for poise_score with choosesDevices: bit d takes device d, 0 leaves
  // the choice to the host.
  @inline
  get masks(): View<u32> {
    return changetype<View<u32>>(this.deviceMasks);
  }
}
