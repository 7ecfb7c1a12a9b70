//! The equal-work policy of the benchmark, in Rust. README.md has the formula.
#[path = "../../../../abi/guest/rust/poise.rs"]
mod poise;

poise::policy! {
    name: "score",
    version: "1.0.0",
    columns {
        cpu: capacity("cpu"), cpu_used: allocated("cpu"),
        memory: capacity("memory"), memory_used: allocated("memory"),
        storage: capacity("storage"), storage_used: allocated("storage"),
        gpu: capacity("gpu"), gpu_used: allocated("gpu"),
        class: class,
    }
    labels { zone: "zone" }
    params { zone: symbol = "a", class: i64 = 1 in 0 ..= 4294967295 }
    row_pure: true,
    score: score,
}

// The engine makes a branch of a float that a condition chooses, whatever the source
// looks like, and none of a load.
static ZONE: [f64; 2] = [0.0, 0.25];
static CLASS: [f64; 2] = [0.0, 0.125];
static MASK: [u64; 2] = [0, !0];

fn score(t: &Table, loss: &mut [f64]) {
    let scale = |d: usize, weight: f64| if t.fleet.max(d) > 0.0 { weight / t.fleet.max(d) } else { 0.0 };
    let scale = [scale(0, 0.4), scale(1, 0.3), scale(2, 0.1), scale(3, 0.2)];
    let request = t.job.request;
    let class = t.params.class as u32;
    for r in 0..t.rows {
        let left0 = t.cpu[r] - t.cpu_used[r] - request[0];
        let left1 = t.memory[r] - t.memory_used[r] - request[1];
        let left2 = t.storage[r] - t.storage_used[r] - request[2];
        let left3 = t.gpu[r] - t.gpu_used[r] - request[3];
        let mut sum = left0 * scale[0] + left1 * scale[1] + left2 * scale[2] + left3 * scale[3];
        sum += ZONE[(t.zone[r] != t.params.zone) as usize];
        sum += CLASS[(t.class[r].0 != class) as usize];
        let sign = (left0.to_bits() | left1.to_bits() | left2.to_bits() | left3.to_bits()) >> 63;
        let mask = MASK[sign as usize];
        loss[r] = f64::from_bits((1e9f64.to_bits() & mask) | (sum.to_bits() & !mask));
    }
}
