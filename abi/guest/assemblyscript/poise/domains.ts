import { AmountColumn } from "./columns";
import { addDomain, dimCount } from "./manifest";
import { Table } from "./table";
import { Sym } from "./view";

// DomainKey is a declared label key with counts over the whole fleet.
export class DomainKey {
  constructor(private index: u32) {}

  @inline
  of(table: Table): Domain {
    return changetype<Domain>(load<u32>(table.domains, 4) + this.index * 48);
  }
}

export function domain(key: string): DomainKey {
  return new DomainKey(addDomain(key));
}

// Domain is what the fleet has under one key, value by value.
@unmanaged
export class Domain {
  count: u32; // values; at(i) gives them, ordered by symbol
  private list: usize;
  private stride: u32;
  absent: u32; // nodes without this label
  minTenantTasks: u32;
  maxTenantTasks: u32;
  minJobTasks: u32;
  maxJobTasks: u32;
  minNodes: u32;
  maxNodes: u32;

  @inline
  at(i: u32): DomainValue {
    return changetype<DomainValue>(this.list + <usize>(i * this.stride));
  }

  // find gives the counts of a value, null where no node has it.
  find(value: Sym): DomainValue | null {
    let low: u32 = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      const found = this.at(middle);
      if (found.value == value) return found;
      if (changetype<usize>(found.value) < changetype<usize>(value)) low = middle + 1;
      else high = middle;
    }
    return null;
  }
}

// DomainValue is the nodes with one value, together.
@unmanaged
export class DomainValue {
  private symbol: u32;
  nodes: u32;
  tenantTasks: u32; // of the job's tenant
  jobTasks: u32; // of this job, tentative ones included

  @inline
  get value(): Sym {
    return changetype<Sym>(<usize>this.symbol);
  }

  @inline
  capacity(column: AmountColumn): f64 {
    return load<f64>(changetype<usize>(this) + (<usize>column.dim << 3), 16);
  }

  @inline
  allocated(column: AmountColumn): f64 {
    return load<f64>(changetype<usize>(this) + (<usize>(dimCount() + column.dim) << 3), 16);
  }
}
