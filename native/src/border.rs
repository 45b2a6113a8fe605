//! The border to Python: kernels run without the interpreter's lock, and neither a panic nor endless work passes it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{create_exception, marker::Ungil};

create_exception!(
    gossamer_native,
    KernelFault,
    PyRuntimeError,
    "A kernel panicked, or reached its work limit."
);

/// The steps that a call may still take. Callers set it by the size of the input, so that deadlines hold.
pub struct WorkLimit {
    left: u64,
}

/// The work limit was reached.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkLimitReached;

impl WorkLimit {
    pub fn new(steps: u64) -> Self {
        Self { left: steps }
    }

    /// Take some steps, or report that too few are left.
    pub fn take(&mut self, steps: usize) -> Result<(), WorkLimitReached> {
        match self.left.checked_sub(steps as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(WorkLimitReached),
        }
    }
}

impl From<WorkLimitReached> for PyErr {
    fn from(_: WorkLimitReached) -> Self {
        KernelFault::new_err("the work limit was reached")
    }
}

/// Run a kernel without the interpreter's lock; a panic becomes a `KernelFault`.
pub fn run<T: Ungil + Send>(py: Python<'_>, kernel: impl FnOnce() -> T + Ungil + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(kernel))).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown panic");
        KernelFault::new_err(format!("a kernel panicked: {text}"))
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("KernelFault", module.py().get_type::<KernelFault>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_limit_ends() {
        let mut limit = WorkLimit::new(10);
        assert_eq!(limit.take(4), Ok(()));
        assert_eq!(limit.take(6), Ok(()));
        assert_eq!(limit.take(1), Err(WorkLimitReached));
    }
}
