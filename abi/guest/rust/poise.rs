//! The guest SDK of Poise: what a policy plugin in Rust needs, and nothing it
//! has to link. A plugin is one crate that takes this file in as its module
//! `poise`, declares itself once with [`policy!`], and writes two functions at
//! most:
//!
//! ```ignore
//! #[path = "sdk/poise.rs"]
//! mod poise;
//!
//! poise::policy! {
//!     name: "tight",
//!     version: "1.0.0",
//!     columns { capacity: capacity("cpu"), allocated: allocated("cpu") }
//!     row_pure: true,
//!     score: score,
//! }
//!
//! fn score(t: &Table, loss: &mut [f64]) {
//!     for r in 0..t.rows {
//!         loss[r] = t.capacity[r] - t.allocated[r];
//!     }
//! }
//! ```
//!
//! Nothing is copied: columns are slices of the memory that the host writes.
//! Every column and every output has exactly `t.rows` elements, so indexing with
//! `0..t.rows` costs no bounds checks. Nothing here uses the heap, and a panic
//! is a trap, which voids the call.
#![allow(dead_code, unused_imports, unused_macros)]

mod alloc;
mod block;
mod device;
mod manifest;
mod policy;
mod scratch;
mod table;

#[cfg(not(target_arch = "wasm32"))]
mod arena;
#[cfg(not(target_arch = "wasm32"))]
pub mod harness;

pub use alloc::alloc;
pub use block::{Domain, DomainValue, Fleet, Job, Profile, Shape};
pub use device::{best_fit, enough, free_total, lowest_whole};
pub use manifest::{dim_of, json, Spec};
pub(crate) use policy::{column_dim, column_kind, column_name, column_type, instead, param_type, policy};
pub use scratch::Scratch;
pub use table::{Candidates, Column, Devices, Memory, Reader, Value};

/// A text as the host knows it: two are equal if and only if the texts are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Symbol(pub u32);

impl Symbol {
    /// The absent, or empty, text.
    pub const NONE: Symbol = Symbol(0);
}

/// What a filter says of a row. The reasons of a plugin are the constants of its
/// module `reason`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Reason(pub u32);

impl Reason {
    /// The row stays.
    pub const KEEP: Reason = Reason(0);
}

/// Bits of a row in the column `taints`.
pub const TAINT_NO_SCHEDULE: u64 = 1;
/// See [`TAINT_NO_SCHEDULE`].
pub const TAINT_NO_EXECUTE: u64 = 2;
/// The row has a taint that the job does not tolerate. No candidate has.
pub const TAINT_UNTOLERATED: u64 = 4;

/// Milli-devices of a whole device.
pub const WHOLE: u32 = 1000;

/// Writes a line to the author's terminal. It exists under `poise plugin run`
/// and `poise plugin test` only: a module that calls it is refused elsewhere.
pub fn log(text: &str) {
    #[cfg(target_arch = "wasm32")]
    {
        #[link(wasm_import_module = "poise")]
        extern "C" {
            #[link_name = "log"]
            fn host_log(text: *const u8, length: usize);
        }
        // The host reads the text before it returns.
        unsafe { host_log(text.as_ptr(), text.len()) }
    }
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("{}", text);
}
