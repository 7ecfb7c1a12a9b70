// What every plugin exports beside its poise_filter and poise_score.

import { describe } from "./manifest";

// Pointer and length, as poise_describe promises them.
const described = memory.data(8, 8);

// poise_abi_v1 marks the major version; the result is the minor one.
export function poise_abi_v1(): i32 {
  return 0;
}

export function poise_describe(): usize {
  const text = describe();
  store<u32>(described, <u32>changetype<usize>(text));
  store<u32>(described, <u32>text.byteLength, 4);
  return described;
}

// The most that the allocator of the stub runtime gives at once.
const LARGEST: u64 = 1 << 30;

// poise_alloc gives memory that is kept for ever, or 0. That allocator traps
// where memory cannot grow, so it grows here first.
export function poise_alloc(size: usize, align: usize): usize {
  if (<u64>size + <u64>align >= LARGEST) return 0;
  const end = <u64>heap.alloc(0) + <u64>size + <u64>align + 32; // two headers of the allocator
  const pages = <i32>((end + 0xffff) >> 16) - memory.size();
  if (pages > 0 && memory.grow(pages) < 0) return 0;
  return (heap.alloc(size + align) + align - 1) & ~(align - 1);
}
