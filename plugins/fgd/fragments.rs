//! How much of a node's free devices typical tasks could not use.

use crate::poise::{Profile, Symbol, WHOLE};
use crate::CPU;

/// Devices of a node that are tried in one walk over the tasks.
pub const LANES: usize = 4;

/// Shapes of a profile.
const SHAPES: usize = 1024;

/// Asks for devices that differ: shares of 1 to 999, and whole devices, of
/// which a node has 32 at most.
const ASKS: usize = 1000 + 33;

/// A typical task with devices that the model at hand will do for.
#[derive(Clone, Copy)]
struct Open {
    share: f64,
    cpu: f64,
    ask: u32,
}

/// A typical task without devices.
#[derive(Clone, Copy)]
struct Bare {
    share: f64,
    cpu: f64,
}

/// What tasks ask of devices, and what the row at hand has of it.
#[derive(Clone, Copy)]
struct Ask {
    milli: u32,
    count: u32,
    /// Devices with at least `milli` free, and free milli-devices of the others.
    enough: u32,
    below: u32,
    /// By lane: whether enough devices have enough free, and what is a fragment
    /// then for a task that has the cpu.
    fits: [bool; LANES],
    fragment: [f64; LANES],
}

impl Ask {
    #[inline(always)]
    fn set(&mut self, lane: usize, enough: u32, below: u32, all: u32) {
        self.fits[lane] = enough >= self.count;
        self.fragment[lane] = if enough >= self.count { below } else { all } as f64;
    }
}

/// The typical tasks of a profile, cut to one device model at a time. They are
/// the shapes from the top that cover 95 % of the jobs counted; of `n` jobs with
/// `covered` in the list, a share is (count / n) / (covered / n).
pub struct Fragments {
    typical: usize,
    covered: f64,
    model: Option<Symbol>,
    bare: [Bare; SHAPES],
    bare_count: usize,
    open: [Open; SHAPES],
    open_count: usize,
    closed: [f64; SHAPES],
    closed_count: usize,
    asks: [Ask; ASKS],
    ask_count: usize,
    ask_of: [u16; ASKS],
}

const NO_ASK: u16 = 0;

impl Fragments {
    pub const EMPTY: Fragments = Fragments {
        typical: 0,
        covered: 0.0,
        model: None,
        bare: [Bare { share: 0.0, cpu: 0.0 }; SHAPES],
        bare_count: 0,
        open: [Open { share: 0.0, cpu: 0.0, ask: 0 }; SHAPES],
        open_count: 0,
        closed: [0.0; SHAPES],
        closed_count: 0,
        asks: [Ask { milli: 0, count: 0, enough: 0, below: 0, fits: [false; LANES], fragment: [0.0; LANES] }; ASKS],
        ask_count: 0,
        ask_of: [NO_ASK; ASKS],
    };

    /// Takes the typical tasks from the profile.
    pub fn prepare(&mut self, profile: &Profile) {
        let n = profile.total_count();
        let (mut typical, mut covered) = (0, 0.0);
        for s in profile.iter() {
            if !(covered * 100.0 < 95.0 * n) || typical == SHAPES {
                break;
            }
            covered += s.count;
            typical += 1;
        }
        self.typical = typical;
        self.covered = covered;
        self.model = None;
        self.bare_count = 0;
        self.ask_count = 0;
        self.ask_of = [NO_ASK; ASKS];
        for s in profile.iter().take(typical) {
            if s.devices == 0 {
                self.bare[self.bare_count] = Bare { share: s.count / n / (covered / n), cpu: s.request[CPU] };
                self.bare_count += 1;
                continue;
            }
            let key = key(s.devices, s.milli);
            if self.ask_of[key] == NO_ASK {
                let ask = &mut self.asks[self.ask_count];
                ask.milli = s.milli;
                ask.count = s.devices;
                self.ask_count += 1;
                self.ask_of[key] = self.ask_count as u16;
            }
        }
    }

    /// Takes the tasks as a device model sees them.
    pub fn see(&mut self, profile: &Profile, model: Symbol) {
        if self.model == Some(model) {
            return;
        }
        self.model = Some(model);
        let n = profile.total_count();
        let covered = self.covered / n;
        let (mut open, mut closed) = (0, 0);
        for s in profile.iter().take(self.typical) {
            if s.devices == 0 {
                continue;
            }
            let share = s.count / n / covered;
            if s.allows(model) {
                self.open[open] = Open { share, cpu: s.request[CPU], ask: self.ask_of[key(s.devices, s.milli)] as u32 - 1 };
                open += 1;
            } else {
                self.closed[closed] = share;
                closed += 1;
            }
        }
        self.open_count = open;
        self.closed_count = closed;
    }

    /// Counts for every ask what the devices have free, and sets lane 0 to them
    /// as they are.
    pub fn measure(&mut self, free: &[u16], all: u32) {
        // Devices that are free as a whole are enough for any ask, and those with
        // nothing free add nothing: few are left.
        let (mut parts, mut n, mut whole) = ([0; 32], 0, 0);
        for &f in free {
            if f as u32 == WHOLE {
                whole += 1;
            } else if f > 0 && n < parts.len() {
                parts[n] = f as u32;
                n += 1;
            }
        }
        for ask in &mut self.asks[..self.ask_count] {
            let (mut enough, mut below) = (whole, 0);
            for &f in &parts[..n] {
                if f >= ask.milli {
                    enough += 1;
                } else {
                    below += f;
                }
            }
            ask.enough = enough;
            ask.below = below;
            ask.set(0, enough, below, all);
        }
    }

    /// Sets lane 0 to the devices without so many whole ones; `all` is what is
    /// left free.
    pub fn take_whole(&mut self, devices: u32, all: u32) {
        for ask in &mut self.asks[..self.ask_count] {
            ask.set(0, ask.enough - devices, ask.below, all);
        }
    }

    /// Sets a lane to the devices with a share taken from one that has so much
    /// free; `all` is what is left free.
    pub fn take_share(&mut self, lane: usize, free: u32, milli: u32, all: u32) {
        let left = free - milli;
        for ask in &mut self.asks[..self.ask_count] {
            let (mut enough, mut below) = (ask.enough, ask.below);
            if left < ask.milli {
                below += left;
                if free < ask.milli {
                    below -= free;
                } else {
                    enough -= 1;
                }
            }
            ask.set(lane, enough, below, all);
        }
    }

    /// Phi of the first lanes, with so much cpu idle and `all` milli-devices free.
    #[inline(always)]
    pub fn phi<const N: usize>(&self, cpu: f64, all: u32) -> [f64; N] {
        let mut phi = [0.0; N];
        if all == 0 {
            return phi;
        }
        let all = all as f64;
        let (mut neither, mut usable, mut no_cpu) = ([0.0; N], [0.0; N], [0.0; N]);
        for task in &self.open[..self.open_count] {
            // The index was made with the asks.
            let ask = unsafe { self.asks.get_unchecked(task.ask as usize) };
            if task.cpu <= cpu {
                for l in 0..N {
                    usable[l] += task.share * ask.fragment[l];
                }
                continue;
            }
            let part = task.share * all;
            for l in 0..N {
                if ask.fits[l] {
                    no_cpu[l] += part;
                } else {
                    neither[l] += part;
                }
            }
        }
        let (bare, bare_no_cpu, closed) = self.without_devices(cpu, all);
        for l in 0..N {
            phi[l] = neither[l] + usable[l] + no_cpu[l] + bare + bare_no_cpu + closed;
        }
        phi
    }

    /// The parts of Phi that hang on no device: tasks without devices that have
    /// the cpu, those that have not, and tasks that the model will not do for.
    fn without_devices(&self, cpu: f64, all: f64) -> (f64, f64, f64) {
        let (mut bare, mut bare_no_cpu, mut closed) = (0.0, 0.0, 0.0);
        for task in &self.bare[..self.bare_count] {
            if task.cpu <= cpu {
                bare += task.share * all;
            } else {
                bare_no_cpu += task.share * all;
            }
        }
        for share in &self.closed[..self.closed_count] {
            closed += share * all;
        }
        (bare, bare_no_cpu, closed)
    }
}

/// The index of an ask: by milli where it is a share, which is always of one
/// device, else by the number of devices, beyond 32 too many for any node.
fn key(devices: u32, milli: u32) -> usize {
    if milli < 1000 {
        milli as usize
    } else {
        999 + devices.min(33) as usize
    }
}
