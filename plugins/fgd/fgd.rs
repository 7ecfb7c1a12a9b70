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
use poise::{Scratch, Symbol, WHOLE};

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

/// Device models of a call that are told apart; rows of further ones come as they
/// stand.
const MODELS: usize = 16;

static FRAGMENTS: Scratch<Fragments> = Scratch::new(Fragments::EMPTY);

fn score(t: &Table, loss: &mut [f64], masks: &mut [u32]) {
    FRAGMENTS.with(|f| {
        f.prepare(&t.profile);
        // Row after row of one model, so that the tasks are cut to each once.
        let (mut models, mut n) = ([Symbol::NONE; MODELS], 0);
        for r in t.candidates.iter() {
            if n < MODELS && !models[..n].contains(&t.model[r]) {
                models[n] = t.model[r];
                n += 1;
            }
        }
        let mut answer = |r: usize| {
            let (score, mask) = f.score(t, r);
            loss[r] = 100.0 - score;
            masks[r] = mask;
        };
        for &model in &models[..n] {
            t.candidates.iter().filter(|&r| t.model[r] == model).for_each(&mut answer);
        }
        if n == MODELS {
            t.candidates.iter().filter(|&r| !models.contains(&t.model[r])).for_each(&mut answer);
        }
    })
}

impl Fragments {
    /// The score of a row, and the mask of the device that a share takes there.
    #[inline(never)]
    fn score(&mut self, t: &Table, r: usize) -> (f64, u32) {
        let free = t.free.row(r);
        let idle = (t.capacity[r] - t.allocated[r]).max(0.0);
        let left = idle - t.job.request[CPU];
        let all = poise::free_total(free);
        if all == 0 {
            return (sigmoid(0.0), 0);
        }
        self.see(&t.profile, t.model[r]);
        self.measure(free, all);
        let [before] = self.phi(idle, all);
        if t.job.is_share() {
            return self.best_share(before, left, free, all, t.job.milli);
        }
        let whole = poise::lowest_whole(free, t.job.devices).count_ones();
        let rest = all - whole * WHOLE;
        if whole > 0 {
            self.take_whole(whole, rest);
        }
        let [after] = self.phi(left, rest);
        (sigmoid(before - after), 0)
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
                self.take_share(n, f as u32, milli, all - milli);
                devices[n] = d;
                n += 1;
            }
            if n < LANES && d + 1 < free.len() {
                continue;
            }
            for (&d, &phi) in devices[..n].iter().zip(&self.phi_lanes(n, cpu, all - milli)) {
                let score = sigmoid(before - phi);
                if score > best {
                    best = score;
                    mask = 1 << d;
                }
            }
            n = 0;
        }
        if mask == 0 {
            return (sigmoid(0.0), 0);
        }
        (best, mask)
    }

    /// Phi of the first lanes; what is beyond them says nothing.
    fn phi_lanes(&self, lanes: usize, cpu: f64, all: u32) -> [f64; LANES] {
        let mut phi = [0.0; LANES];
        match lanes {
            0 => {}
            1 => phi[..1].copy_from_slice(&self.phi::<1>(cpu, all)),
            2 => phi[..2].copy_from_slice(&self.phi::<2>(cpu, all)),
            _ => phi = self.phi(cpu, all),
        }
        phi
    }
}

/// Turns the fall of fragments in milli-devices into a score; its unit is one
/// device.
fn sigmoid(fall: f64) -> f64 {
    (1.0 / (1.0 + exp::exp(-(fall / WHOLE as f64))) * 100.0).trunc()
}

#[cfg(test)]
mod fgd_test;
