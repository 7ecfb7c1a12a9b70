//! FGD, fragmentation gradient descent, of Weng et al., "Beware of
//! Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
//! Descent" (USENIX ATC 2023): the node, and for a share the device, where the
//! free devices become the least useless to typical tasks. README.md has the
//! formula. Losses equal those of the native baseline bit for bit: sums run in
//! its order, and no product is fused with a sum.

#[path = "../../abi/guest/rust/poise.rs"]
mod poise;

mod exp;
mod fragments;

use fragments::{Fragments, LANES};
use poise::{Scratch, WHOLE};

poise::policy! {
    name: "fgd",
    version: "1.0.0",
    description: "places where the free devices stay most useful to the typical tasks (FGD, USENIX ATC 2023)",
    columns {
        capacity: capacity("cpu"),
        allocated: allocated("cpu"),
        free: devices,
        model: device_model,
    }
    row_pure: true,
    wants_profile: true,
    loss_range: 0.0, 100.0;
    score_devices: score,
}

const CPU: usize = dim("cpu");

static FRAGMENTS: Scratch<Fragments> = Scratch::new(Fragments::EMPTY);

fn score(t: &Table, loss: &mut [f64], masks: &mut [u32]) {
    FRAGMENTS.with(|f| {
        f.prepare(&t.profile);
        for r in t.candidates.iter() {
            let (score, mask) = f.score(t, r);
            loss[r] = 100.0 - score;
            masks[r] = mask;
        }
    })
}

impl Fragments {
    /// The score of a row, and the mask of the device that a share takes there.
    fn score(&mut self, t: &Table, r: usize) -> (f64, u32) {
        let free = t.free.row(r);
        let idle = (t.capacity[r] - t.allocated[r]).max(0.0);
        let left = idle - t.job.request[CPU];
        let all = poise::free_total(free);
        if all == 0 {
            return (sigmoid(0.0), 0);
        }
        self.see(&t.profile, t.model[r]);
        self.measure(free);
        let before = self.phi(idle, all);
        if !t.job.is_share() {
            return (sigmoid(before - self.phi_without(left, free, all, t.job.devices)), 0);
        }
        self.best_share(before, left, free, all, t.job.milli)
    }

    /// Phi once the job has taken its whole devices, the lowest free ones.
    fn phi_without(&mut self, cpu: f64, free: &[u16], all: u32, devices: u32) -> f64 {
        if devices == 0 {
            return self.phi(cpu, all);
        }
        let mask = poise::lowest_whole(free, devices);
        let mut after = [0; 32];
        for (d, &f) in free.iter().enumerate().take(32) {
            after[d] = if mask >> d & 1 == 1 { 0 } else { f };
        }
        self.measure(&after[..free.len().min(32)]);
        self.phi(cpu, all - WHOLE * mask.count_ones())
    }

    /// The best score of a share over the devices with enough free, and the
    /// mask of its device, the lowest of equals. Devices with as much free as
    /// an earlier one are left out.
    fn best_share(&mut self, before: f64, cpu: f64, free: &[u16], all: u32, milli: u32) -> (f64, u32) {
        let (mut best, mut mask) = (-1.0, 0);
        let mut devices = [0; LANES];
        let mut n = 0;
        for (d, &f) in free.iter().enumerate() {
            if f as u32 >= milli && !free[..d].contains(&f) {
                devices[n] = d;
                n += 1;
            }
            if n == LANES || (n > 0 && d + 1 == free.len()) {
                let phi = self.phi_shares(cpu, free, all, milli, &devices[..n]);
                for (&d, &phi) in devices[..n].iter().zip(&phi) {
                    let score = sigmoid(before - phi);
                    if score > best {
                        best = score;
                        mask = 1 << d;
                    }
                }
                n = 0;
            }
        }
        if mask == 0 {
            return (sigmoid(0.0), 0);
        }
        (best, mask)
    }
}

/// Turns the fall of fragments in milli-devices into a score; its unit is one
/// device.
fn sigmoid(fall: f64) -> f64 {
    (1.0 / (1.0 + exp::exp(-(fall / WHOLE as f64))) * 100.0).trunc()
}

#[cfg(test)]
mod fgd_test;
