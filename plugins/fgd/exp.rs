//! e to the power of x by the method of FreeBSD's e_exp.c: with x = k ln2 + r
//! and |r| <= ln2/2, a polynomial of degree 5 approximates r (e^r+1)/(e^r-1),
//! and e^x = 2^k e^r. A guest has no library of its own, and one of the host's
//! would round differently from machine to machine.

const LN2_HI: f64 = 6.931_471_803_691_238_164_90e-01;
const LN2_LO: f64 = 1.908_214_929_270_587_700_02e-10;
const P: [f64; 5] = [
    1.666_666_666_666_666_574_15e-01,
    -2.777_777_777_701_559_338_42e-03,
    6.613_756_321_437_934_361_17e-05,
    -1.653_390_220_546_525_153_90e-06,
    4.138_136_797_057_238_460_39e-08,
];

/// e to the power of x, to less than one unit in the last place.
pub fn exp(x: f64) -> f64 {
    if x > 709.782_712_893_384 {
        return f64::INFINITY;
    }
    if x < -745.133_219_101_941_1 {
        return 0.0;
    }
    let k = (std::f64::consts::LOG2_E * x + if x < 0.0 { -0.5 } else { 0.5 }) as i32;
    let hi = x - k as f64 * LN2_HI;
    let lo = k as f64 * LN2_LO;
    let r = hi - lo;
    let t = r * r;
    let c = r - t * (P[0] + t * (P[1] + t * (P[2] + t * (P[3] + t * P[4]))));
    let y = 1.0 - ((lo - (r * c) / (2.0 - c)) - hi);
    y * power(k / 2) * power(k - k / 2)
}

/// 2 to the power of k, |k| < 1000.
fn power(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}
