import { addColumn } from "./manifest";
import { Table } from "./table";

// DevicesColumn is the declared column of the devices of one kind.
export class DevicesColumn {
  constructor(private index: u32) {}

  // of gives the column of this call: take it once, before the loop.
  @inline
  of(table: Table): DeviceRows {
    return changetype<DeviceRows>(table.column(this.index));
  }
}

// devices declares the free milli-devices of each device of a kind.
export function devices(resource: string = "gpu"): DevicesColumn {
  return new DevicesColumn(addColumn("devices:" + resource));
}

// DeviceRows is the column of a call. slots is table.slots, the same for all
// rows: take it once.
@unmanaged
export class DeviceRows {
  @inline
  row(row: u32, slots: u32): Devices {
    return changetype<Devices>(changetype<usize>(this) + <usize>(row * slots) * 2);
  }
}

// Devices is one row: free milli-devices per device, 1000 = a whole one. Slots
// beyond the node's own devices are 0.
@unmanaged
export class Devices {
  @inline @operator("[]")
  get(device: u32): u32 {
    return load<u16>(changetype<usize>(this) + (<usize>device << 1));
  }

  // total is the sum of what is free: four devices at a time, in the two halves
  // of a u64, which cannot run over.
  total(slots: u32): u32 {
    let pairs: u64 = 0;
    let at = changetype<usize>(this);
    const end = at + (<usize>slots << 1);
    for (; at + 8 <= end; at += 8) {
      const four = load<u64>(at);
      pairs += (four & 0x0000ffff0000ffff) + ((four >> 16) & 0x0000ffff0000ffff);
    }
    let sum = <u32>pairs + <u32>(pairs >> 32);
    for (; at < end; at += 2) sum += load<u16>(at);
    return sum;
  }

  // enough is how many devices have at least so much free.
  enough(milli: u32, slots: u32): u32 {
    let count: u32 = 0;
    for (let d: u32 = 0; d < slots; d++) count += <u32>(this[d] >= milli);
    return count;
  }

  // tightest is the mask of the device with the least free amount that is
  // enough for a share, the lowest of equal ones; 0 = none.
  tightest(milli: u32, slots: u32): u32 {
    let least: u32 = u32.MAX_VALUE;
    let mask: u32 = 0;
    for (let d: u32 = 0; d < slots; d++) {
      const free = this[d];
      if (free >= milli && free < least) {
        least = free;
        mask = 1 << d;
      }
    }
    return mask;
  }

  // lowest is the mask of the first count devices with enough free; 0 = there
  // are not so many.
  lowest(count: u32, milli: u32, slots: u32): u32 {
    let mask: u32 = 0;
    for (let d: u32 = 0; d < slots && count > 0; d++) {
      if (this[d] >= milli) {
        mask |= 1 << d;
        count--;
      }
    }
    return count > 0 ? 0 : mask;
  }
}
