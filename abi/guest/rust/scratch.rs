//! Static memory for a policy that needs more than the stack, which is small.

/// A static value that a call works on: `static WORK: Scratch<Work> =
/// Scratch::new(Work { … })`. Nothing in it may outlast the call as an answer:
/// the host sets it back when it likes.
pub struct Scratch<T> {
    #[cfg(target_arch = "wasm32")]
    value: core::cell::UnsafeCell<T>,
    #[cfg(not(target_arch = "wasm32"))]
    value: std::sync::Mutex<T>,
}

// A guest has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl<T> Sync for Scratch<T> {}

impl<T> Scratch<T> {
    pub const fn new(value: T) -> Scratch<T> {
        #[cfg(target_arch = "wasm32")]
        return Scratch { value: core::cell::UnsafeCell::new(value) };
        #[cfg(not(target_arch = "wasm32"))]
        return Scratch { value: std::sync::Mutex::new(value) };
    }

    /// Hands the value out. `f` must not ask for the same scratch again.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(target_arch = "wasm32")]
        return f(unsafe { &mut *self.value.get() });
        #[cfg(not(target_arch = "wasm32"))]
        return f(&mut self.value.lock().unwrap_or_else(|e| e.into_inner()));
    }
}
