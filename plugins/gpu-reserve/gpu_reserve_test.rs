use super::*;
use poise::harness::Call;

/// Five nodes: without devices, with free ones, with few free ones, with none
/// free, and with a taint.
fn fleet() -> Call {
    let mut c = Call::new(&SPEC);
    c.node();
    c.node().set("capacity:gpu", 4000.0);
    c.node().set("capacity:gpu", 4000.0).set("allocated:gpu", 3100.0);
    c.node().set("capacity:npu", 2000.0).set("allocated:npu", 2000.0);
    c.node().set("capacity:gpu", 4000.0).set("taints", poise::TAINT_NO_SCHEDULE as f64);
    c
}

#[test]
fn filter_keeps_devices() {
    let f = |c: &Call, want: &str| {
        let got: String = native_filter(c).iter().map(|r| if *r == reason::KEPT { 'x' } else { '.' }).collect();
        assert_eq!(got, want);
    };
    f(&fleet(), ".xxx.");
    f(fleet().devices(1, 500), ".....");
    f(fleet().selectors(1), ".xxx.");
    f(fleet().param("allow_tolerated", false), ".xxxx");
    f(fleet().param("allow_selected", true), ".xxx.");
    f(fleet().param("allow_selected", true).selectors(1), ".xxx.");
    f(fleet().param("min_priority", 10).field("priority", 9), ".xxx.");
    f(fleet().param("min_priority", 10).field("priority", 10), ".....");
    f(fleet().param("min_priority", -5).field("priority", -6), ".xxx.");
    f(fleet().field("priority", i32::MAX as i64), ".xxx.");
    f(fleet().param("idle_share", 0.001), ".xx..");
    f(fleet().param("idle_share", 0.225), ".xx..");
    f(fleet().param("idle_share", 0.25), ".x...");
    f(fleet().param("idle_share", 1.0), ".x...");
}

#[test]
fn a_selected_node_is_open() {
    let mut c = Call::new(&SPEC);
    c.node().set("capacity:gpu", 4000.0).set("selectors", 1.0);
    c.node().set("capacity:gpu", 4000.0);
    assert_eq!(native_filter(&c), [reason::KEPT, reason::KEPT]);
    c.param("allow_selected", true);
    assert_eq!(native_filter(&c), [Reason::KEEP, reason::KEPT]);
}

#[test]
fn no_rows() {
    assert_eq!(native_filter(&Call::new(&SPEC)), []);
}
