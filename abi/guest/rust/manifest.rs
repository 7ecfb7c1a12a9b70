//! What a plugin says of itself, made at compile time from its declaration.

/// The declaration of a plugin as data: what the harness builds tables from.
pub struct Spec {
    /// The manifest, a JSON object.
    pub manifest: &'static [u8],
    /// Name and kind of each column, labels not included.
    pub columns: &'static [(&'static str, u32)],
    /// Dimension that each column names, "" = none.
    pub column_dims: &'static [&'static str],
    pub labels: &'static [&'static str],
    pub domains: &'static [&'static str],
    /// Name, type and default as JSON ("" = none) of each parameter.
    pub params: &'static [(&'static str, &'static str, &'static str)],
    /// Values of the enums among them, which come last.
    pub choices: &'static [&'static [&'static str]],
    pub job_fields: &'static [&'static str],
}

/// Makes JSON of what the macro put together, where every element of a list has
/// a comma behind it: the last one becomes a space.
pub const fn json<const N: usize>(text: &str) -> [u8; N] {
    let from = text.as_bytes();
    let mut to = [b' '; N];
    let mut quoted = false;
    let mut i = 0;
    while i < N {
        let c = from[i];
        to[i] = c;
        if quoted && c == b'\\' {
            i += 1;
            to[i] = from[i];
        } else if c == b'"' {
            quoted = !quoted;
        } else if !quoted && c == b',' && i + 1 < N && (from[i + 1] == b']' || from[i + 1] == b'}') {
            to[i] = b' ';
        }
        i += 1;
    }
    to
}

/// The index of a dimension: how many others the columns name before it.
pub const fn dim_of(column_dims: &[&str], name: &str) -> usize {
    let mut dim = 0;
    let mut i = 0;
    while i < column_dims.len() {
        let mut first = !column_dims[i].is_empty();
        let mut j = 0;
        while j < i {
            if same(column_dims[i], column_dims[j]) {
                first = false;
            }
            j += 1;
        }
        if same(column_dims[i], name) {
            return dim;
        }
        if first {
            dim += 1;
        }
        i += 1;
    }
    panic!("no column names this dimension with capacity or allocated")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
