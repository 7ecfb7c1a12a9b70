//! The SDK by itself: a policy that declares every section and every column,
//! and calls laid out by the harness.

#[path = "../poise.rs"]
mod poise;

use poise::harness::{Call, ValueCounts};
use poise::{Reason, Symbol, TAINT_UNTOLERATED};

poise::policy! {
    name: "every-section",
    version: "1.2.3",
    description: "says \"all\" that there is, [,] and {,}",
    columns {
        capacity: capacity("cpu"),
        npu: devices("npu"),
        memory: allocated("memory"),
        allocated: allocated("cpu"),
        gpu: devices,
        model: device_model,
        npu_model: device_model("npu"),
        class: class,
        taints: taints,
        selectors: selectors,
        running: running_tasks,
        tenant: tenant_tasks,
        tasks: job_tasks,
        age: age,
    }
    labels { zone: "zone", tier: "example.org/tier" }
    domains { zones: "zone", racks: "rack" }
    params { weight: f64 = -0.5 in -1.0..=1.0, floor: i64 = -10, on: bool = true, pool: symbol = "gold", must: f64 }
    choices { mode: Mode { Fast = "fast", Slow = "slow" } = "slow", side: Side { Left = "l", Right = "r" } }
    reasons { FULL = 1: "node: \"full\"", LAST = 255: "last" }
    job_fields { priority: i64, tenant_id: symbol }
    row_pure: false,
    wants_profile: true,
    loss_range: -100.0, 100.0;
    tie: "seeded",
    filter: filter,
    score_devices: score,
}

const CPU: usize = dim("cpu");
const MEMORY: usize = dim("memory");

fn filter(t: &Table, out: &mut [Reason]) {
    for r in 0..t.rows {
        out[r] = match t.taints[r] & TAINT_UNTOLERATED {
            0 => Reason::KEEP,
            _ if t.params.mode == Mode::Fast => reason::FULL,
            _ => reason::LAST,
        };
    }
}

fn score(t: &Table, loss: &mut [f64], masks: &mut [u32]) {
    for r in t.candidates.iter() {
        loss[r] = t.capacity[r] - t.allocated[r] - t.memory[r];
        masks[r] = poise::lowest_whole(t.gpu.row(r), t.job.devices);
    }
}

/// Reads the call as a policy would, and gives what `f` makes of it.
fn read<T>(call: &Call, f: fn(&Table) -> T) -> T {
    let answer = call.run(|_, _, _, _| 0);
    let (memory, table, job) = answer.call();
    unsafe { f(&Table::read(memory, table, job)) }
}

fn call() -> Call {
    let mut c = Call::new(&SPEC);
    c.param("must", 2.5).param("side", "r");
    c
}

#[test]
fn manifest() {
    let want = concat!(
        r#"{"name":"every-section","version":"1.2.3","description":"says \"all\" that there is, [,] and {,}","#,
        r#""columns":["capacity:cpu","devices:npu","allocated:memory","allocated:cpu","devices","device_model","device_model:npu","#,
        r#""class","taints","selectors","running_tasks","tenant_tasks","job_tasks","age" ],"labels":["zone","example.org/tier" ],"#,
        r#""domains":["zone","rack" ],"params":[{"name":"weight","type":"f64","default":-0.5,"min":-1.0,"max":1.0 },"#,
        r#"{"name":"floor","type":"i64","default":-10 },{"name":"on","type":"bool","default":true },"#,
        r#"{"name":"pool","type":"symbol","default":"gold" },{"name":"must","type":"f64" },"#,
        r#"{"name":"mode","type":"enum","default":"slow","values":["fast","slow" ]},{"name":"side","type":"enum","values":["l","r" ]} ],"#,
        r#""reasons":{"1":"node: \"full\"","255":"last" },"job_fields":["priority","tenant_id" ],"row_pure":false,"#,
        r#""wants_profile":true,"chooses_devices":true,"loss_range":[-100.0,100.0],"tie":"seeded" }"#,
    );
    assert_eq!(std::str::from_utf8(SPEC.manifest).unwrap(), want);
}

#[test]
fn dimensions_stand_in_the_order_of_first_mention() {
    assert_eq!((CPU, MEMORY), (0, 1));
    let f = |dims: &[&str], name, want| assert_eq!(poise::dim_of(dims, name), want);
    f(&["", "b", "a", "b", "c"], "b", 0);
    f(&["", "b", "a", "b", "c"], "a", 1);
    f(&["", "b", "a", "b", "c"], "c", 2);
    assert!(std::panic::catch_unwind(|| dim("storage")).is_err());
}

#[test]
fn columns() {
    let mut c = call();
    c.node()
        .set("capacity:cpu", 4000.0)
        .set("devices:npu", [7])
        .set("allocated:memory", 1e15)
        .set("allocated:cpu", 1500.5)
        .set("devices", [1000, 999, 3])
        .set("device_model", "T4")
        .set("device_model:npu", "N1")
        .set("class", "T4")
        .set("taints", 4)
        .set("selectors", 3)
        .set("running_tasks", 9)
        .set("tenant_tasks", 8)
        .set("job_tasks", 7)
        .set("age", 60000.0)
        .set("zone", "a")
        .set("example.org/tier", "T4");
    c.node();
    read(&c, |t| {
        assert_eq!((t.rows, t.capacity, t.memory, t.allocated), (2, &[4000.0, 0.0][..], &[1e15, 0.0][..], &[1500.5, 0.0][..]));
        assert_eq!((t.npu.row(0), t.gpu.row(0), t.gpu.row(1)), (&[7, 0, 0][..], &[1000, 999, 3][..], &[0, 0, 0][..]));
        assert_eq!((t.taints, t.selectors, t.age), (&[4, 0][..], &[3, 0][..], &[60000.0, 0.0][..]));
        assert_eq!((t.running, t.tenant, t.tasks), (&[9, 0][..], &[8, 0][..], &[7, 0][..]));
        assert!(t.model[0] == t.tier[0] && t.model[0] != t.zone[0] && t.zone[0] != t.npu_model[0]);
        assert_eq!((t.class[0], t.class[1]), (t.model[0], Symbol::NONE));
        assert_eq!((t.model[1], t.zone[1]), (Symbol::NONE, Symbol::NONE));
    });
}

#[test]
fn parameters_and_job() {
    read(&call(), |t| {
        let p = t.params;
        assert_eq!((p.weight, p.floor, p.on, p.must, p.mode, p.side), (-0.5, -10, true, 2.5, Mode::Slow, Side::Right));
        assert_eq!((t.job.devices, t.job.is_share(), t.job.allows(Symbol(1)), t.job.request), (0, false, true, &[0.0, 0.0][..]));
    });
    let mut c = call();
    c.param("weight", 1.0).param("on", false).param("mode", "fast").param("pool", "T4");
    c.devices(1, 250).models(&["T4", "A100"]).selectors(2).request("memory", 8.0).field("priority", -3);
    c.node().set("device_model", "A100").set("zone", "T4");
    read(&c, |t| {
        assert_eq!((t.params.weight, t.params.on, t.params.mode), (1.0, false, Mode::Fast));
        assert_eq!((t.params.pool, t.job.models[0]), (t.zone[0], t.zone[0]));
        assert_eq!((t.job.devices, t.job.milli, t.job.selectors, t.job.device_total()), (1, 250, 2, 250));
        assert!(t.job.is_share() && t.job.allows(t.model[0]) && !t.job.allows(Symbol::NONE) && t.job.kind != Symbol::NONE);
        assert_eq!((t.job.request[CPU], t.job.request[MEMORY], t.job_fields.priority), (0.0, 8.0, -3));
        assert_eq!(t.job_fields.tenant_id, Symbol::NONE);
    });
}

#[test]
fn blocks() {
    let mut c = call();
    c.domain("zone", "b", ValueCounts { nodes: 2, tenant_tasks: 5, job_tasks: 1, capacity: vec![9.0, 8.0], allocated: vec![7.0, 6.0] });
    c.domain("zone", "a", ValueCounts { nodes: 3, tenant_tasks: 4, job_tasks: 2, ..ValueCounts::default() });
    c.absent("zone", 6);
    c.shape(3.0, 2, 500, &["T4"], &[1000.0, 5.0]).shape(1.0, 0, 0, &[], &[2000.0, 0.0]).other_shapes(6.0);
    c.node().set("capacity:cpu", 4000.0).set("zone", "b").set("device_model", "T4");
    c.node().set("capacity:cpu", 1000.0).set("zone", "c");
    read(&c, |t| {
        assert_eq!((t.fleet.nodes, t.fleet.sum(CPU), t.fleet.max(CPU), t.fleet.sum(MEMORY)), (2, 5000.0, 4000.0, 0.0));
        let z = t.domains.zones;
        assert_eq!((z.len(), z.absent(), z.nodes(), z.tenant_tasks(), z.job_tasks()), (2, 6, (2, 3), (4, 5), (1, 2)));
        let b = z.find(t.zone[0]).unwrap();
        assert_eq!((b.nodes, b.tenant_tasks, b.job_tasks, b.capacity, b.allocated), (2, 5, 1, &[9.0, 8.0][..], &[7.0, 6.0][..]));
        assert!(z.find(t.zone[1]).is_none() && z.find(Symbol::NONE).is_none());
        assert_eq!(z.iter().map(|v| v.nodes).sum::<u32>(), 5);
        assert_eq!((t.domains.racks.len(), t.domains.racks.nodes()), (0, (0, 0)));
        let p = t.profile;
        assert_eq!((p.len(), p.total_count(), p.total_weight()), (2, 10.0, 7.0));
        let shapes: Vec<_> = p.iter().collect();
        assert_eq!((shapes[0].count, shapes[0].devices, shapes[0].milli, shapes[0].request), (3.0, 2, 500, &[1000.0, 5.0][..]));
        assert!(shapes[0].allows(t.model[0]) && !shapes[0].allows(t.zone[0]) && shapes[1].allows(t.zone[0]));
    });
}

#[test]
fn answers() {
    let mut c = call();
    for r in 0..130 {
        let node = c.node().set("capacity:cpu", r as f64).set("devices", [0, 1000, 1000]).set("taints", 4 * (r % 2));
        if r % 3 == 0 {
            node.refused();
        }
    }
    c.devices(1, 1000);
    let reasons = native_filter(&c);
    let scores = native_score(&c);
    for r in 0..130 {
        assert_eq!(reasons[r], if r % 2 == 0 { Reason::KEEP } else { reason::LAST });
        assert_eq!(scores[r], if r % 3 == 0 { (0.0, 0) } else { (r as f64, 2) });
    }
}

#[test]
fn devices() {
    let f = |free: &[u16], milli, best, enough| {
        assert_eq!((poise::best_fit(free, milli), poise::enough(free, milli)), (best, enough), "{:?}", free);
    };
    f(&[], 1, None, 0);
    f(&[500, 300, 300, 1000], 300, Some(1), 4);
    f(&[500, 300, 300, 1000], 301, Some(0), 2);
    f(&[500, 1000], 1000, Some(1), 1);
    f(&[999], 1000, None, 0);
    assert_eq!(poise::free_total(&[1000; 32]), 32000);
    assert_eq!((poise::lowest_whole(&[0, 1000, 999, 1000, 1000], 2), poise::lowest_whole(&[1000], 2)), (0b1010, 1));
}

#[test]
fn mistakes_are_named() {
    let f = |mistake: fn()| assert!(std::panic::catch_unwind(mistake).is_err());
    f(|| {
        call().node().set("capacity:gpu", 1.0);
    });
    f(|| {
        call().param("nothing", 1.0);
    });
    f(|| {
        call().request("gpu", 1.0);
    });
    f(|| {
        call().field("seed", 1);
    });
    f(|| drop(Call::new(&SPEC).run(|_, _, _, _| 0))); // must and side have no default
    f(|| {
        let mut c = call();
        c.node().set("zone", 1.0);
        c.run(|_, _, _, _| 0);
    });
    f(|| drop(call().run(|_, _, _, _| 1)));
}
