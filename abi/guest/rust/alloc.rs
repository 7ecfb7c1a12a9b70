//! Memory for the host's blocks, taken at set-up and never given back.

/// Gives `size` bytes at a multiple of `align`, or 0. It takes them from a static
/// as long as that has room, then whole new pages, and keeps what is left of them
/// for the next call: so it never meets the plugin's data, its stack, or a heap. The
/// blocks of a call on few rows fit into the static, and a memory of one page is set
/// back in half the time of two. What it has to remember lies in front of that room:
/// what is behind the blocks is zero then, and the host leaves it off.
#[cfg(target_arch = "wasm32")]
pub fn alloc(size: u32, align: u32) -> u32 {
    const PAGE: u64 = 65536;
    const FIRST: usize = 16 << 10;
    #[repr(C)]
    struct Heap {
        next: u64,
        end: u64,
        room: [u64; FIRST / 8],
    }
    static mut HEAP: Heap = Heap { next: 0, end: 0, room: [0; FIRST / 8] };
    let align = align.max(1) as u64;
    // A guest has one thread, and nothing else touches it.
    let Heap { next, end, room } = unsafe { &mut HEAP };
    if *end == 0 {
        *next = room.as_ptr() as u64;
        *end = *next + FIRST as u64;
    }
    let mut at = (*next + align - 1) / align * align;
    if at + size as u64 > *end {
        let pages = (size as u64 + align + PAGE - 1) / PAGE;
        let grown = core::arch::wasm32::memory_grow(0, pages as usize);
        if grown == usize::MAX {
            return 0;
        }
        at = (grown as u64 * PAGE + align - 1) / align * align;
        *end = (grown as u64 + pages) * PAGE;
    }
    *next = at + size as u64;
    at as u32
}

/// Natively the harness owns the memory.
#[cfg(not(target_arch = "wasm32"))]
pub fn alloc(_size: u32, _align: u32) -> u32 {
    0
}
