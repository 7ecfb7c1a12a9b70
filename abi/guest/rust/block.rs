//! The blocks beside the table: job, fleet, domains and profile.

use super::table::Memory;
use super::Symbol;

#[repr(C)]
pub struct RawJob {
    size: u32,
    devices: u32,
    milli: u32,
    kind: u32,
    model_count: u32,
    models: u32,
    selectors: u32,
    pub field_count: u32,
    pub fields: u32,
    dims: u32,
    request: u32,
    zero: u32,
}

/// The job of a call.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Devices asked for, 0 = none.
    pub devices: u32,
    /// Milli-devices on each: 1000 = whole devices, less = a share of one.
    pub milli: u32,
    /// The device kind, such as "gpu".
    pub kind: Symbol,
    /// Allowed device models; empty = any.
    pub models: &'a [Symbol],
    /// How many selectors the job has.
    pub selectors: u32,
    /// Amount per dimension, base units. The index of one is `dim("cpu")`.
    pub request: &'a [f64],
}

impl<'a> Job<'a> {
    #[inline(always)]
    pub(super) unsafe fn read(memory: Memory, raw: &RawJob) -> Job<'a> {
        Job {
            devices: raw.devices,
            milli: raw.milli,
            kind: Symbol(raw.kind),
            models: memory.list(raw.models, raw.model_count as usize),
            selectors: raw.selectors,
            request: memory.list(raw.request, raw.dims as usize),
        }
    }

    /// Whether the job asks for a share of one device.
    #[inline(always)]
    pub fn is_share(&self) -> bool {
        self.devices > 0 && self.milli < super::WHOLE
    }

    /// Milli-devices asked for in sum.
    #[inline(always)]
    pub fn device_total(&self) -> u32 {
        self.devices * self.milli
    }

    /// Whether devices of the model will do.
    #[inline(always)]
    pub fn allows(&self, model: Symbol) -> bool {
        self.models.is_empty() || self.models.contains(&model)
    }
}

#[repr(C)]
struct RawFleet {
    nodes: u32,
    dims: u32,
    stride: u32,
    list: u32,
}

#[repr(C)]
struct RawAmount {
    sum: f64,
    max: f64,
}

/// The whole fleet, whichever rows a call sees.
#[derive(Clone, Copy)]
pub struct Fleet<'a> {
    pub nodes: u32,
    amounts: &'a [RawAmount],
}

impl<'a> Fleet<'a> {
    #[inline(always)]
    pub(super) unsafe fn read(memory: Memory, pointer: u32) -> Fleet<'a> {
        let raw: &RawFleet = memory.at(pointer);
        Fleet { nodes: raw.nodes, amounts: memory.list(raw.list, raw.dims as usize) }
    }

    /// Sum of the capacities in a dimension.
    #[inline(always)]
    pub fn sum(&self, dim: usize) -> f64 {
        self.amounts[dim].sum
    }

    /// Largest capacity in a dimension.
    #[inline(always)]
    pub fn max(&self, dim: usize) -> f64 {
        self.amounts[dim].max
    }
}

#[repr(C)]
pub struct RawDomains {
    count: u32,
    keys: u32,
    stride: u32,
    dims: u32,
}

#[repr(C)]
struct RawKey {
    count: u32,
    values: u32,
    stride: u32,
    absent: u32,
    bounds: [u32; 6],
    zero: u64,
}

/// One label key with the counts of its values over the whole fleet.
#[derive(Clone, Copy)]
pub struct Domain<'a> {
    memory: Memory,
    raw: &'a RawKey,
    dims: usize,
}

impl<'a> Domain<'a> {
    #[inline(always)]
    pub(super) unsafe fn read(memory: Memory, raw: &RawDomains, i: usize) -> Domain<'a> {
        Domain { memory, raw: memory.at(raw.keys + i as u32 * raw.stride), dims: raw.dims as usize }
    }

    /// Number of values.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.raw.count as usize
    }

    /// Nodes without the label.
    pub fn absent(&self) -> u32 {
        self.raw.absent
    }

    /// Least and largest number of the tenant's tasks on a value.
    pub fn tenant_tasks(&self) -> (u32, u32) {
        (self.raw.bounds[0], self.raw.bounds[1])
    }

    /// Least and largest number of the job's tasks on a value.
    pub fn job_tasks(&self) -> (u32, u32) {
        (self.raw.bounds[2], self.raw.bounds[3])
    }

    /// Least and largest number of nodes of a value.
    pub fn nodes(&self) -> (u32, u32) {
        (self.raw.bounds[4], self.raw.bounds[5])
    }

    /// The values, ordered by symbol.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = DomainValue<'a>> + 'a {
        let domain = *self;
        (0..self.len()).map(move |i| unsafe { domain.value(i) })
    }

    /// The counts of one value, if a node has it.
    #[inline(always)]
    pub fn find(&self, symbol: Symbol) -> Option<DomainValue<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let value = unsafe { self.value(middle) };
            if value.symbol == symbol {
                return Some(value);
            }
            if value.symbol < symbol {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        None
    }

    #[inline(always)]
    unsafe fn value(&self, i: usize) -> DomainValue<'a> {
        let at = self.raw.values + i as u32 * self.raw.stride;
        let counts: &[u32; 4] = self.memory.at(at);
        DomainValue {
            symbol: Symbol(counts[0]),
            nodes: counts[1],
            tenant_tasks: counts[2],
            job_tasks: counts[3],
            capacity: self.memory.list(at + 16, self.dims),
            allocated: self.memory.list(at + 16 + 8 * self.dims as u32, self.dims),
        }
    }
}

/// What the nodes with one value of a label have together.
#[derive(Clone, Copy)]
pub struct DomainValue<'a> {
    pub symbol: Symbol,
    pub nodes: u32,
    pub tenant_tasks: u32,
    pub job_tasks: u32,
    pub capacity: &'a [f64],
    pub allocated: &'a [f64],
}

#[repr(C)]
struct RawProfile {
    epoch: u64,
    total_count: f64,
    total_weight: f64,
    shapes: u32,
    stride: u32,
    list: u32,
    dims: u32,
}

#[repr(C)]
struct RawShape {
    count: f64,
    weight: f64,
    devices: u32,
    milli: u32,
    model_count: u32,
    models: u32,
}

/// What jobs have been asking for. A plugin that does not want the profile sees
/// one without shapes.
#[derive(Clone, Copy)]
pub struct Profile<'a> {
    memory: Memory,
    raw: &'a RawProfile,
}

impl<'a> Profile<'a> {
    #[inline(always)]
    pub(super) unsafe fn read(memory: Memory, pointer: u32) -> Profile<'a> {
        static NONE: RawProfile = RawProfile { epoch: 0, total_count: 0.0, total_weight: 0.0, shapes: 0, stride: 0, list: 0, dims: 0 };
        Profile { memory, raw: if pointer == 0 { &NONE } else { memory.at(pointer) } }
    }

    /// Another number, other shapes.
    pub fn epoch(&self) -> u64 {
        self.raw.epoch
    }

    /// Jobs counted, those of shapes that were left out included.
    pub fn total_count(&self) -> f64 {
        self.raw.total_count
    }

    pub fn total_weight(&self) -> f64 {
        self.raw.total_weight
    }

    /// Number of shapes, at most 1,024.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.raw.shapes as usize
    }

    /// The shapes by falling count.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = Shape<'a>> + 'a {
        let (memory, raw) = (self.memory, self.raw);
        (0..raw.shapes).map(move |i| unsafe {
            let at = raw.list + i * raw.stride;
            let shape: &RawShape = memory.at(at);
            Shape {
                count: shape.count,
                weight: shape.weight,
                devices: shape.devices,
                milli: shape.milli,
                models: memory.list(shape.models, shape.model_count as usize),
                request: memory.list(at + 32, raw.dims as usize),
            }
        })
    }
}

/// One kind of task, as far as the plugin's dimensions tell kinds apart.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    pub count: f64,
    /// `count * (1 + devices asked for)`.
    pub weight: f64,
    pub devices: u32,
    pub milli: u32,
    /// Allowed device models; empty = any.
    pub models: &'a [Symbol],
    pub request: &'a [f64],
}

impl<'a> Shape<'a> {
    /// Whether devices of the model will do.
    #[inline(always)]
    pub fn allows(&self, model: Symbol) -> bool {
        self.models.is_empty() || self.models.contains(&model)
    }
}
