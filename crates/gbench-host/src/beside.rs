//! Runs work in parallel. Where the system cannot start another thread (a limit of the user or of a container), the work runs in the
//! calling thread instead.

use std::thread::{Builder, Result, Scope, ScopedJoinHandle};

/// Work in its own thread, or already done if no thread could be started.
pub enum Beside<'scope, T> {
    Thread(ScopedJoinHandle<'scope, T>),
    Done(T),
}

impl<'scope, T: Send + 'scope> Beside<'scope, T> {
    /// Starts the work. Without another thread, the work is done before this returns.
    pub fn start(scope: &'scope Scope<'scope, '_>, work: impl FnOnce() -> T + Clone + Send + 'scope) -> Self {
        Builder::new().spawn_scoped(scope, work.clone()).map_or_else(|_| Self::Done(work()), Self::Thread)
    }

    /// The result of the work. Errors: its thread panicked.
    pub fn join(self) -> Result<T> {
        match self {
            Self::Thread(thread) => thread.join(),
            Self::Done(result) => Ok(result),
        }
    }
}
