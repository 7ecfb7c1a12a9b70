use super::exp::exp;
use super::*;
use poise::harness::Call;

/// A number of the text.
fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{:?} is no number", text))
}

/// The parts of a text that begins with the separator or is it alone.
fn parts(text: &str, separator: char) -> Vec<&str> {
    text.split(separator).filter(|p| !p.is_empty()).collect()
}

/// A profile and the nodes that were asked about.
fn call(lines: &[Vec<&str>]) -> Call {
    let mut c = Call::new(&SPEC);
    for w in lines {
        match w[0] {
            "shape" => {
                c.shape(number(w[1]), number(w[2]), number(w[3]), &parts(w[5], '|'), &[number(w[4])]);
            }
            "job" => {
                c.request("cpu", number(w[1]));
                c.devices(number(w[2]), number(w[3]));
            }
            _ => {
                let free: Vec<u16> = parts(w[4], ',').into_iter().map(number).collect();
                let node = c.node();
                node.set("capacity:cpu", number::<f64>(w[1])).set("allocated:cpu", number::<f64>(w[2])).set("devices", free);
                for model in parts(w[3], '|') {
                    node.set("device_model", model);
                }
            }
        }
    }
    c
}

/// What the native baseline answered for random fleets, jobs and profiles; the
/// file says how it was made.
#[test]
fn equals_the_native_baseline() {
    let text = include_str!("testdata/baseline.txt");
    let mut cases = text.split("case\n");
    assert!(cases.next().unwrap().starts_with('#'));
    let mut rows = 0;
    for (i, case) in cases.enumerate() {
        let lines: Vec<Vec<&str>> = case.lines().map(|l| l.split(' ').collect()).collect();
        let got = native_score(&call(&lines));
        let nodes: Vec<_> = lines.iter().filter(|w| w[0] == "node").collect();
        assert_eq!(got.len(), nodes.len());
        for (w, got) in nodes.iter().zip(&got) {
            assert_eq!(*got, (number(w[5]), number(w[6])), "case {} of testdata/baseline.txt: {:?}", i, w);
            rows += 1;
        }
    }
    assert!(rows > 100);
}

/// The two nodes of the worked values of the published policies.
fn two_nodes() -> Call {
    let mut c = Call::new(&SPEC);
    c.shape(5.0, 1, 810, &[], &[3152.0]).shape(3.0, 1, 1000, &[], &[11300.0]).shape(2.0, 0, 0, &[], &[12500.0]);
    c.node().set("capacity:cpu", 20000.0).set("devices", [1000, 1000, 900, 850, 190, 0, 0, 0]);
    c.node().set("capacity:cpu", 64000.0).set("devices", [1000, 1000]);
    c
}

#[test]
fn worked_values() {
    let f = |cpu, devices, milli, want: [(f64, u32); 2]| {
        let got = native_score(two_nodes().request("cpu", cpu).devices(devices, milli));
        assert_eq!(got, want.map(|(score, mask)| (100.0 - score, mask)), "{} cpu, {} x {}", cpu, devices, milli);
    };
    f(3152.0, 1, 810, [(59.0, 8), (50.0, 1)]);
    f(11300.0, 1, 1000, [(47.0, 0), (54.0, 0)]);
    f(12500.0, 0, 0, [(35.0, 0), (50.0, 0)]);
}

#[test]
fn nothing_known_is_fifty() {
    let f = |c: &mut Call, want: (f64, u32)| {
        c.node().set("capacity:cpu", 8000.0).set("devices", [1000, 400]);
        assert_eq!(native_score(c), [want]);
    };
    f(Call::new(&SPEC).devices(1, 300), (50.0, 1));
    f(Call::new(&SPEC).devices(2, 1000), (50.0, 0));
    f(&mut Call::new(&SPEC), (50.0, 0));
    // A device of another kind: the column has none, so the host chooses.
    let mut c = Call::new(&SPEC);
    c.devices(1, 300).shape(1.0, 1, 300, &[], &[0.0]);
    c.node().set("devices", []);
    assert_eq!(native_score(&c), [(50.0, 0)]);
}

#[test]
fn rows_that_are_no_candidates_are_left_alone() {
    let mut c = two_nodes();
    c.node().refused();
    assert_eq!(native_score(c.devices(1, 810))[2], (0.0, 0));
}

#[test]
fn exp_is_close_to_the_exact_value() {
    let f = |x: f64| {
        let (got, want) = (exp(x), x.exp());
        assert!((got - want).abs() <= want * 2.3e-16, "exp({}): {}, want {}", x, got, want);
    };
    assert_eq!((exp(0.0), exp(1000.0), exp(-1000.0)), (1.0, f64::INFINITY, 0.0));
    for i in -700_000..=700_000 {
        f(i as f64 / 1000.0);
        f(i as f64 / 1e8);
        f(i as f64 * 1e-21);
    }
}
