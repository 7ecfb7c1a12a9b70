//! The table and its columns, as the host lays them out.

use super::block::{Domain, Fleet, Job, Profile, RawDomains, RawJob};
use super::Symbol;

/// Memory that the host writes. Its pointers count from where it begins: 0 in a
/// guest, the address of a buffer in a native test.
#[derive(Clone, Copy)]
pub struct Memory(pub usize);

impl Memory {
    /// # Safety
    /// `pointer` is one of the host's, to a `T`.
    #[inline(always)]
    pub unsafe fn at<'a, T>(self, pointer: u32) -> &'a T {
        &*((self.0 + pointer as usize) as *const T)
    }

    /// # Safety
    /// `pointer` is one of the host's, to `n` times `T`, or `n` is 0.
    #[inline(always)]
    pub unsafe fn list<'a, T>(self, pointer: u32, n: usize) -> &'a [T] {
        if n == 0 {
            return &[];
        }
        core::slice::from_raw_parts((self.0 + pointer as usize) as *const T, n)
    }

    /// # Safety
    /// As for `list`, and nothing else reads or writes there meanwhile.
    #[inline(always)]
    pub unsafe fn list_mut<'a, T>(self, pointer: u32, n: usize) -> &'a mut [T] {
        if n == 0 {
            return &mut [];
        }
        core::slice::from_raw_parts_mut((self.0 + pointer as usize) as *mut T, n)
    }
}

#[repr(C)]
pub struct RawTable {
    magic: u32,
    minor: u32,
    rows: u32,
    capacity: u32,
    columns: u32,
    dims: u32,
    candidates: u32,
    params: u32,
    fleet: u32,
    domains: u32,
    profile: u32,
    slots: u32,
    descriptors: u32,
    param_count: u32,
}

#[repr(C)]
struct RawColumn {
    kind: u32,
    data: u32,
    stride: u32,
    zero: u32,
}

/// The magic of a table: the bytes `POIS`.
pub const MAGIC: u32 = 0x5349_4F50;

/// Reads the blocks of one call, in the order of the manifest. It is what the
/// macro `policy!` fills a `Table` from; policies do not need it.
pub struct Reader<'a> {
    memory: Memory,
    table: &'a RawTable,
    job: &'a RawJob,
    column: usize,
    param: usize,
    field: usize,
    domain: usize,
}

impl<'a> Reader<'a> {
    /// # Safety
    /// `table` and `job` are the pointers of a call.
    #[inline(always)]
    pub unsafe fn new(memory: Memory, table: u32, job: u32, columns: usize, params: usize) -> Reader<'a> {
        let r = Reader { memory, table: memory.at(table), job: memory.at(job), column: 0, param: 0, field: 0, domain: 0 };
        if r.table.magic != MAGIC || r.table.columns as usize != columns || r.table.param_count as usize != params {
            mismatch();
        }
        r
    }

    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.table.rows as usize
    }

    #[inline(always)]
    pub fn candidates(&self) -> Candidates<'a> {
        Candidates { words: unsafe { self.memory.list(self.table.candidates, (self.rows() + 63) / 64) } }
    }

    /// The next column, which is of the given kind.
    #[inline(always)]
    pub fn column<T: Column<'a>>(&mut self, kind: u32) -> T {
        let raw: &RawColumn = unsafe { &self.memory.list(self.table.descriptors, self.table.columns as usize)[self.column] };
        self.column += 1;
        let slots = self.table.slots as usize;
        if raw.kind != kind || raw.stride as usize != T::stride(slots) {
            mismatch();
        }
        unsafe { T::view(self.memory, raw.data, self.table.rows as usize, slots) }
    }

    /// The next parameter.
    #[inline(always)]
    pub fn param<T: Value>(&mut self) -> T {
        let all: &[u64] = unsafe { self.memory.list(self.table.params, self.table.param_count as usize) };
        self.param += 1;
        T::from_bits(all[self.param - 1])
    }

    /// The next field of the job.
    #[inline(always)]
    pub fn field<T: Value>(&mut self) -> T {
        let all: &[u64] = unsafe { self.memory.list(self.job.fields, self.job.field_count as usize) };
        self.field += 1;
        T::from_bits(all[self.field - 1])
    }

    /// The next key of the domains.
    #[inline(always)]
    pub fn domain(&mut self) -> Domain<'a> {
        let raw: &RawDomains = unsafe { self.memory.at(self.table.domains) };
        self.domain += 1;
        unsafe { Domain::read(self.memory, raw, self.domain - 1) }
    }

    #[inline(always)]
    pub fn job(&self) -> Job<'a> {
        unsafe { Job::read(self.memory, self.job) }
    }

    #[inline(always)]
    pub fn fleet(&self) -> Fleet<'a> {
        unsafe { Fleet::read(self.memory, self.table.fleet) }
    }

    #[inline(always)]
    pub fn profile(&self) -> Profile<'a> {
        unsafe { Profile::read(self.memory, self.table.profile) }
    }
}

#[cold]
#[inline(never)]
fn mismatch() -> ! {
    panic!("the table is not the one that the manifest asks for")
}

/// A view of one column.
pub trait Column<'a>: Sized {
    /// Bytes from row to row.
    fn stride(slots: usize) -> usize;
    /// # Safety
    /// `data` points to `rows` rows of that stride.
    unsafe fn view(memory: Memory, data: u32, rows: usize, slots: usize) -> Self;
}

macro_rules! plain_column {
    ($($t:ty),*) => {$(
        impl<'a> Column<'a> for &'a [$t] {
            #[inline(always)]
            fn stride(_slots: usize) -> usize {
                core::mem::size_of::<$t>()
            }
            #[inline(always)]
            unsafe fn view(memory: Memory, data: u32, rows: usize, _slots: usize) -> Self {
                core::slice::from_raw_parts((memory.0 + data as usize) as *const $t, rows)
            }
        }
    )*};
}

plain_column!(f64, u64, u32, Symbol);

/// The column `devices`: free milli-devices of each device of each row.
#[derive(Clone, Copy)]
pub struct Devices<'a> {
    free: &'a [u16],
    /// Slots of a row, `K`. Those beyond a node's devices are 0.
    pub slots: usize,
}

impl<'a> Devices<'a> {
    /// The slots of one row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &'a [u16] {
        &self.free[row * self.slots..][..self.slots]
    }
}

impl<'a> Column<'a> for Devices<'a> {
    #[inline(always)]
    fn stride(slots: usize) -> usize {
        2 * slots
    }
    #[inline(always)]
    unsafe fn view(memory: Memory, data: u32, rows: usize, slots: usize) -> Self {
        Devices { free: memory.list(data, rows * slots), slots }
    }
}

/// The rows that the host reads the answers of.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    words: &'a [u64],
}

impl<'a> Candidates<'a> {
    #[inline(always)]
    pub fn has(&self, row: usize) -> bool {
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// The candidate rows, rising.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = usize> + 'a {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                Some(64 * i + bit)
            })
        })
    }
}

/// A value of 8 bytes: a parameter or a field of the job.
pub trait Value {
    fn from_bits(bits: u64) -> Self;
}

impl Value for f64 {
    #[inline(always)]
    fn from_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

impl Value for i64 {
    #[inline(always)]
    fn from_bits(bits: u64) -> i64 {
        bits as i64
    }
}

impl Value for u64 {
    #[inline(always)]
    fn from_bits(bits: u64) -> u64 {
        bits
    }
}

impl Value for bool {
    #[inline(always)]
    fn from_bits(bits: u64) -> bool {
        bits != 0
    }
}

impl Value for Symbol {
    #[inline(always)]
    fn from_bits(bits: u64) -> Symbol {
        Symbol(bits as u32)
    }
}
