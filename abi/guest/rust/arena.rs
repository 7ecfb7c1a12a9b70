//! The memory of a call that the harness lays out.

use super::harness::{Call, Cell};

/// Memory of a call; offsets are in bytes, and blocks begin at multiples of 8.
pub struct Arena {
    pub words: Vec<u64>,
}

impl Arena {
    pub fn take(&mut self, size: usize) -> usize {
        let at = 8 * self.words.len();
        self.words.resize(self.words.len() + (size + 7) / 8, 0);
        at
    }

    fn bits(&mut self, at: usize, bytes: usize, value: u64) {
        self.words[at / 8] |= value << (at % 8 * 8);
        debug_assert!(at % bytes == 0);
    }

    pub fn put(&mut self, at: usize, values: &[u32]) {
        for (i, &v) in values.iter().enumerate() {
            self.bits(at + 4 * i, 4, v.into());
        }
    }

    pub fn doubles(&mut self, at: usize, values: &[f64]) {
        for (i, v) in values.iter().enumerate() {
            self.words[at / 8 + i] = v.to_bits();
        }
    }

    pub fn cell(&mut self, at: usize, kind: u32, cell: &Cell, symbols: &mut Call) {
        match (kind, cell) {
            (1 | 2 | 12, Cell::Number(v)) => self.doubles(at, &[*v]),
            (5 | 6, Cell::Number(v)) => self.words[at / 8] = *v as u64,
            (7, Cell::Devices(free)) => {
                for (d, &f) in free.iter().enumerate() {
                    self.bits(at + 2 * d, 2, f.into());
                }
            }
            (3 | 4 | 8, Cell::Text(v)) => self.bits(at, 4, symbols.symbol(v).into()),
            (9 | 10 | 11, Cell::Number(v)) => self.bits(at, 4, *v as u64),
            _ => panic!("{:?} in a column of kind {}, expected a value that fits it", cell, kind),
        }
    }

    pub fn u32_at(&self, at: usize) -> u32 {
        (self.words[at / 8] >> (at % 8 * 8)) as u32
    }
}

/// Bytes from row to row of a column.
pub fn stride(kind: u32, slots: usize) -> usize {
    match kind {
        1 | 2 | 5 | 6 | 12 => 8,
        7 => 2 * slots,
        _ => 4,
    }
}
