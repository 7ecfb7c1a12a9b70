//! What policies ask of the free amounts of a node's devices.

/// Free milli-devices of a node in sum.
#[inline(always)]
pub fn free_total(free: &[u16]) -> u32 {
    free.iter().map(|&f| f as u32).sum()
}

/// How many devices have at least so much free.
#[inline(always)]
pub fn enough(free: &[u16], milli: u32) -> u32 {
    free.iter().filter(|&&f| f as u32 >= milli).count() as u32
}

/// The device with the least free amount that is enough, the lowest of equals.
#[inline(always)]
pub fn best_fit(free: &[u16], milli: u32) -> Option<usize> {
    let mut best = None;
    let mut least = u32::MAX;
    for (d, &f) in free.iter().enumerate() {
        if f as u32 >= milli && (f as u32) < least {
            least = f as u32;
            best = Some(d);
        }
    }
    best
}

/// The mask of the lowest devices that are free as a whole, `count` at most.
#[inline(always)]
pub fn lowest_whole(free: &[u16], count: u32) -> u32 {
    let (mut mask, mut left) = (0, count);
    for (d, &f) in free.iter().enumerate() {
        if left > 0 && f as u32 == super::WHOLE {
            mask |= 1 << d;
            left -= 1;
        }
    }
    mask
}
