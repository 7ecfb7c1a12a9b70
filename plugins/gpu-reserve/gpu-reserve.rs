//! Keeps nodes with devices for jobs that ask for devices: a filter, with
//! exemptions by parameters. README.md says when each of them fits.

#[path = "../../abi/guest/rust/poise.rs"]
mod poise;

use poise::Reason;

poise::policy! {
    name: "gpu-reserve",
    version: "1.0.0",
    description: "keeps nodes with devices for jobs that ask for devices",
    columns {
        gpu: capacity("gpu"),
        gpu_taken: allocated("gpu"),
        npu: capacity("npu"),
        npu_taken: allocated("npu"),
        taints: taints,
        selectors: selectors,
    }
    params {
        min_priority: i64 = 2147483648,
        allow_selected: bool = false,
        allow_tolerated: bool = true,
        idle_share: f64 = 0.0 in 0.0..=1.0,
    }
    reasons {
        KEPT = 1: "kept for jobs with devices",
    }
    job_fields { priority: i64 }
    row_pure: true,
    filter: filter,
}

fn filter(t: &Table, out: &mut [Reason]) {
    let p = &t.params;
    let exempt = t.job.devices > 0 || t.job_fields.priority >= p.min_priority;
    if exempt {
        out.fill(Reason::KEEP);
        return;
    }
    // A candidate has no taint that the job does not tolerate.
    let opening = if p.allow_tolerated { poise::TAINT_NO_SCHEDULE | poise::TAINT_NO_EXECUTE } else { 0 };
    for r in 0..t.rows {
        let devices = t.gpu[r] + t.npu[r];
        let idle = devices - t.gpu_taken[r] - t.npu_taken[r];
        let open = devices == 0.0 || t.taints[r] & opening != 0 || (p.allow_selected && t.selectors[r] != 0) || idle < p.idle_share * devices;
        out[r] = if open { Reason::KEEP } else { reason::KEPT };
    }
}

#[cfg(test)]
mod gpu_reserve_test;
