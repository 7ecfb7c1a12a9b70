//! A host for native tests: it lays a call out in ordinary memory, byte for byte
//! as Poise does, and asks the plugin's own functions. A mistake in a test, such
//! as a column that the plugin does not declare, is a panic that says so.

use super::arena::{stride, Arena};
use super::table::MAGIC;
use super::{Memory, Reason, Spec};

/// An entry point of a plugin: memory, table, job, out.
pub type Entry = unsafe fn(Memory, u32, u32, u32) -> i32;

/// A value of a column or a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    Number(f64),
    Text(String),
    Bool(bool),
    Devices(Vec<u16>),
}

impl From<f64> for Cell {
    fn from(v: f64) -> Cell {
        Cell::Number(v)
    }
}

impl From<i32> for Cell {
    fn from(v: i32) -> Cell {
        Cell::Number(v.into())
    }
}

impl From<bool> for Cell {
    fn from(v: bool) -> Cell {
        Cell::Bool(v)
    }
}

impl From<&str> for Cell {
    fn from(v: &str) -> Cell {
        Cell::Text(v.into())
    }
}

impl From<Vec<u16>> for Cell {
    fn from(v: Vec<u16>) -> Cell {
        Cell::Devices(v)
    }
}

impl<const N: usize> From<[u16; N]> for Cell {
    fn from(v: [u16; N]) -> Cell {
        Cell::Devices(v.into())
    }
}

/// A node of the table: what is not set is 0, or absent.
pub struct Node {
    spec: &'static Spec,
    cells: Vec<Option<Cell>>,
    candidate: bool,
}

impl Node {
    /// Sets a column, by its name in the manifest, or a label, by its key:
    /// `set("capacity:cpu", 4000.0)`, `set("devices", [1000, 500])`,
    /// `set("device_model", "T4")`.
    pub fn set(&mut self, name: &str, value: impl Into<Cell>) -> &mut Node {
        let column = self.spec.columns.iter().position(|c| c.0 == name);
        let label = self.spec.labels.iter().position(|l| *l == name).map(|i| i + self.spec.columns.len());
        let at = column.or(label).unwrap_or_else(|| panic!("column or label {:?}: the plugin declares none of that name", name));
        self.cells[at] = Some(value.into());
        self
    }

    /// Takes the node out of the candidates.
    pub fn refused(&mut self) -> &mut Node {
        self.candidate = false;
        self
    }
}

/// The counts of one value of a label over the whole fleet.
#[derive(Clone, Default)]
pub struct ValueCounts {
    pub nodes: u32,
    pub tenant_tasks: u32,
    pub job_tasks: u32,
    pub capacity: Vec<f64>,
    pub allocated: Vec<f64>,
}

struct Shape {
    count: f64,
    devices: u32,
    milli: u32,
    models: Vec<u32>,
    request: Vec<f64>,
}

/// One call: nodes, a job, parameters, domains and a profile. The fleet block
/// is that of the nodes.
pub struct Call {
    spec: &'static Spec,
    symbols: Vec<String>,
    nodes: Vec<Node>,
    params: Vec<Option<Cell>>,
    fields: Vec<u64>,
    request: Vec<f64>,
    devices: (u32, u32, u32),
    models: Vec<u32>,
    selectors: u32,
    domains: Vec<(u32, Vec<(u32, ValueCounts)>)>,
    shapes: Vec<Shape>,
    others: f64,
}

impl Call {
    pub fn new(spec: &'static Spec) -> Call {
        let mut call = Call {
            spec,
            symbols: vec![String::new()],
            nodes: vec![],
            params: spec.params.iter().map(|p| default_of(p.2)).collect(),
            fields: vec![0; spec.job_fields.len()],
            request: vec![],
            devices: (0, 0, 0),
            models: vec![],
            selectors: 0,
            domains: spec.domains.iter().map(|_| (0, vec![])).collect(),
            shapes: vec![],
            others: 0.0,
        };
        call.request = vec![0.0; call.dims().len()];
        call
    }

    /// Adds a node.
    pub fn node(&mut self) -> &mut Node {
        let columns = self.spec.columns.len() + self.spec.labels.len();
        self.nodes.push(Node { spec: self.spec, cells: vec![None; columns], candidate: true });
        self.nodes.last_mut().unwrap()
    }

    /// Sets a parameter.
    pub fn param(&mut self, name: &str, value: impl Into<Cell>) -> &mut Call {
        let at = self.spec.params.iter().position(|p| p.0 == name);
        self.params[at.unwrap_or_else(|| panic!("parameter {:?}: the plugin declares none of that name", name))] = Some(value.into());
        self
    }

    /// What the job asks for of a dimension, in base units.
    pub fn request(&mut self, dim: &str, amount: f64) -> &mut Call {
        let at = self.dims().iter().position(|d| *d == dim);
        self.request[at.unwrap_or_else(|| panic!("dimension {:?}: no column of the plugin names it", dim))] = amount;
        self
    }

    /// The job asks for devices of kind "gpu": so many, so many milli of each.
    pub fn devices(&mut self, count: u32, milli: u32) -> &mut Call {
        self.devices = (count, milli, self.symbol("gpu"));
        self
    }

    /// The models that the job allows.
    pub fn models(&mut self, models: &[&str]) -> &mut Call {
        self.models = models.iter().map(|m| self.symbol(m)).collect();
        self
    }

    /// How many selectors the job has.
    pub fn selectors(&mut self, count: u32) -> &mut Call {
        self.selectors = count;
        self
    }

    /// Sets a field of the job: an `i64`, or the bits of another type.
    pub fn field(&mut self, name: &str, value: i64) -> &mut Call {
        let at = self.spec.job_fields.iter().position(|f| *f == name);
        self.fields[at.unwrap_or_else(|| panic!("job field {:?}: the plugin declares none of that name", name))] = value as u64;
        self
    }

    /// Adds a value of a label key with its counts.
    pub fn domain(&mut self, key: &str, value: &str, counts: ValueCounts) -> &mut Call {
        let at = self.spec.domains.iter().position(|d| *d == key);
        let symbol = self.symbol(value);
        self.domains[at.unwrap_or_else(|| panic!("domain {:?}: the plugin declares none of that key", key))].1.push((symbol, counts));
        self
    }

    /// How many nodes have no such label.
    pub fn absent(&mut self, key: &str, nodes: u32) -> &mut Call {
        let at = self.spec.domains.iter().position(|d| *d == key);
        self.domains[at.unwrap_or_else(|| panic!("domain {:?}: the plugin declares none of that key", key))].0 = nodes;
        self
    }

    /// Adds a shape to the profile; shapes are given in order.
    pub fn shape(&mut self, count: f64, devices: u32, milli: u32, models: &[&str], request: &[f64]) -> &mut Call {
        let models = models.iter().map(|m| self.symbol(m)).collect();
        self.shapes.push(Shape { count, devices, milli, models, request: request.into() });
        self
    }

    /// Counts jobs of shapes that the profile leaves out.
    pub fn other_shapes(&mut self, count: f64) -> &mut Call {
        self.others = count;
        self
    }

    /// The symbol of a text.
    pub fn symbol(&mut self, text: &str) -> u32 {
        let at = self.symbols.iter().position(|s| s == text);
        at.unwrap_or_else(|| {
            self.symbols.push(text.into());
            self.symbols.len() - 1
        }) as u32
    }

    fn dims(&self) -> Vec<&'static str> {
        let mut dims = vec![];
        for dim in self.spec.column_dims {
            if !dim.is_empty() && !dims.contains(dim) {
                dims.push(*dim);
            }
        }
        dims
    }

    /// Lays the call out and asks an entry point.
    pub fn run(&self, entry: Entry) -> Answer {
        let mut symbols = Call { symbols: self.symbols.clone(), ..Call::new(self.spec) };
        let mut a = Arena { words: vec![0; 8] };
        let slots = self.slots();
        let (table, job, out) = (a.take(64), a.take(48), a.take(16));
        let rows = self.nodes.len();

        let columns = self.spec.columns.len() + self.spec.labels.len();
        let descriptors = a.take(16 * columns);
        for c in 0..columns {
            let kind = self.spec.columns.get(c).map_or(4, |column| column.1);
            let stride = stride(kind, slots);
            let data = a.take(stride * rows);
            a.put(descriptors + 16 * c, &[kind, data as u32, stride as u32, 0]);
            for (r, node) in self.nodes.iter().enumerate() {
                if let Some(cell) = &node.cells[c] {
                    a.cell(data + r * stride, kind, cell, &mut symbols);
                }
            }
        }

        let candidates = a.take((rows + 63) / 64 * 8);
        for (r, node) in self.nodes.iter().enumerate() {
            a.words[candidates / 8 + r / 64] |= (node.candidate as u64) << (r % 64);
        }

        let params = a.take(8 * self.params.len());
        for (i, value) in self.params.iter().enumerate() {
            a.words[params / 8 + i] = self.param_bits(i, value, &mut symbols);
        }

        let (fields, request, models) = (a.take(8 * self.fields.len()), a.take(8 * self.request.len()), a.take(4 * self.models.len()));
        a.words[fields / 8..][..self.fields.len()].copy_from_slice(&self.fields);
        a.doubles(request, &self.request);
        a.put(models, &self.models);
        let dims = self.request.len();
        a.put(job, &[48, self.devices.0, self.devices.1, self.devices.2, self.models.len() as u32, models as u32, self.selectors]);
        a.put(job + 28, &[self.fields.len() as u32, fields as u32, dims as u32, request as u32, 0]);

        let fleet = self.fleet(&mut a);
        let domains = if self.domains.is_empty() { 0 } else { self.put_domains(&mut a) };
        let wants_profile = contains(self.spec.manifest, b"\"wants_profile\":true");
        let profile = if wants_profile { self.put_profile(&mut a) } else { 0 };

        let values = a.take(8 * rows);
        let masks = a.take(4 * rows);
        a.put(out, &[values as u32, masks as u32, rows as u32, 0]);
        let param_pointer = if self.params.is_empty() { 0 } else { params };
        a.put(table, &[MAGIC, 0, rows as u32, rows as u32, columns as u32, dims as u32, candidates as u32]);
        a.put(table + 28, &[param_pointer as u32, fleet as u32, domains as u32, profile as u32, slots as u32, descriptors as u32]);
        a.put(table + 52, &[self.params.len() as u32, 0, 0]);

        let base = a.words.as_mut_ptr() as usize;
        let status = unsafe { entry(Memory(base), table as u32, job as u32, out as u32) };
        assert_eq!(status, 0, "the plugin declared the call failed");
        Answer { arena: a, rows, table, job, values, masks }
    }

    fn slots(&self) -> usize {
        let cells = self.nodes.iter().flat_map(|n| &n.cells).flatten();
        cells.map(|c| if let Cell::Devices(free) = c { free.len() } else { 0 }).max().unwrap_or(0)
    }

    fn param_bits(&self, i: usize, value: &Option<Cell>, symbols: &mut Call) -> u64 {
        let (name, kind, _) = self.spec.params[i];
        let enums = self.spec.params.len() - self.spec.choices.len();
        match (kind, value) {
            ("f64", Some(Cell::Number(v))) => v.to_bits(),
            ("i64", Some(Cell::Number(v))) => *v as i64 as u64,
            ("bool", Some(Cell::Bool(v))) => *v as u64,
            ("symbol", Some(Cell::Text(v))) => symbols.symbol(v) as u64,
            ("enum", Some(Cell::Text(v))) => {
                let values = self.spec.choices[i - enums];
                values.iter().position(|t| t == v).unwrap_or_else(|| panic!("parameter {}: {:?}, expected one of {:?}", name, v, values))
                    as u64
            }
            (_, other) => panic!("parameter {}: {:?}, expected a value of type {}", name, other, kind),
        }
    }

    fn fleet(&self, a: &mut Arena) -> usize {
        let dims = self.dims();
        let (fleet, list) = (a.take(16), a.take(16 * dims.len()));
        a.put(fleet, &[self.nodes.len() as u32, dims.len() as u32, 16, list as u32]);
        for (d, dim) in dims.iter().enumerate() {
            let capacity = self.spec.columns.iter().position(|c| c.1 == 1 && c.0.ends_with(&format!(":{}", dim)));
            let amounts = self.nodes.iter().map(|n| match capacity.and_then(|c| n.cells[c].as_ref()) {
                Some(Cell::Number(v)) => *v,
                _ => 0.0,
            });
            let amounts: Vec<f64> = amounts.collect();
            a.doubles(list + 16 * d, &[amounts.iter().sum(), amounts.iter().fold(0.0, |x, &y| x.max(y))]);
        }
        fleet
    }

    fn put_domains(&self, a: &mut Arena) -> usize {
        let dims = self.request.len();
        let stride = 16 + 16 * dims;
        let (domains, keys) = (a.take(16), a.take(48 * self.domains.len()));
        a.put(domains, &[self.domains.len() as u32, keys as u32, 48, dims as u32]);
        for (k, (absent, values)) in self.domains.iter().enumerate() {
            let mut values = values.clone();
            values.sort_by_key(|v| v.0);
            let list = a.take(stride * values.len());
            for (i, (symbol, v)) in values.iter().enumerate() {
                let at = list + i * stride;
                a.put(at, &[*symbol, v.nodes, v.tenant_tasks, v.job_tasks]);
                a.doubles(at + 16, &v.capacity);
                a.doubles(at + 16 + 8 * dims, &v.allocated);
            }
            a.put(keys + 48 * k, &[values.len() as u32, list as u32, stride as u32, *absent]);
            let counted: [fn(&ValueCounts) -> u32; 3] = [|v| v.tenant_tasks, |v| v.job_tasks, |v| v.nodes];
            for (i, count) in counted.iter().enumerate() {
                let counts = values.iter().map(|v| count(&v.1));
                a.put(keys + 48 * k + 16 + 8 * i, &[counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0)]);
            }
        }
        domains
    }

    fn put_profile(&self, a: &mut Arena) -> usize {
        let dims = self.request.len();
        let stride = 32 + 8 * dims;
        let (profile, list) = (a.take(40), a.take(stride * self.shapes.len()));
        let (mut total, mut weight) = (self.others, 0.0);
        for (i, s) in self.shapes.iter().enumerate() {
            let models = a.take(4 * s.models.len());
            a.put(models, &s.models);
            let w = s.count * (1.0 + s.devices as f64 * s.milli as f64 / 1000.0);
            a.doubles(list + i * stride, &[s.count, w]);
            a.put(list + i * stride + 16, &[s.devices, s.milli, s.models.len() as u32, models as u32]);
            a.doubles(list + i * stride + 32, &s.request);
            total += s.count;
            weight += w;
        }
        a.words[profile / 8] = 1;
        a.doubles(profile + 8, &[total, weight]);
        a.put(profile + 24, &[self.shapes.len() as u32, stride as u32, list as u32, dims as u32]);
        profile
    }
}

/// A default of the manifest, which is JSON.
fn default_of(text: &str) -> Option<Cell> {
    match text {
        "" => None,
        "true" | "false" => Some(Cell::Bool(text == "true")),
        _ if text.starts_with('"') => Some(Cell::Text(text.trim_matches('"').into())),
        _ => Some(Cell::Number(text.parse().unwrap_or_else(|_| panic!("default {}: expected JSON", text)))),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|w| w == part)
}

/// What a call answered.
pub struct Answer {
    arena: Arena,
    rows: usize,
    table: usize,
    job: usize,
    values: usize,
    masks: usize,
}

impl Answer {
    /// The call as it lies in memory, for who wants to read it again: memory,
    /// table and job.
    pub fn call(&self) -> (Memory, u32, u32) {
        (Memory(self.arena.words.as_ptr() as usize), self.table as u32, self.job as u32)
    }

    pub fn reasons(&self) -> Vec<Reason> {
        (0..self.rows).map(|r| Reason(self.arena.u32_at(self.values + 4 * r))).collect()
    }

    pub fn losses(&self) -> Vec<f64> {
        (0..self.rows).map(|r| f64::from_bits(self.arena.words[self.values / 8 + r])).collect()
    }

    pub fn masks(&self) -> Vec<u32> {
        (0..self.rows).map(|r| self.arena.u32_at(self.masks + 4 * r)).collect()
    }
}
