use super::*;
use poise::harness::Call;

/// Nodes of 8, 4 and 2 cores, and a job that asks for so many milli-cores.
fn call(cpu: f64) -> Call {
    let mut c = Call::new(&SPEC);
    for cores in [8000.0, 4000.0, 2000.0] {
        c.node().set("capacity:cpu", cores);
    }
    c.request("cpu", cpu);
    c
}

#[test]
fn refuses_above_max_load() {
    let (keep, full) = (Reason::KEEP, reason::TOO_FULL);
    assert_eq!(native_filter(&call(1900.0)), [keep, keep, full]);
    assert_eq!(native_filter(call(1900.0).param("max_load", 0.4)), [keep, full, full]);
    assert_eq!(native_filter(call(2000.0).param("max_load", 1.0)), [keep; 3]);
}

#[test]
fn prefers_the_fullest() {
    assert_eq!(native_score(&call(2000.0)), [0.75, 0.5, 0.0]);
}
