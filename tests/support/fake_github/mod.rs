//! A GitHub in this process: with state, with the limits of the real one, and with faults on demand.
//!
//! ```text
//! let fake = FakeGithub::start();
//! let first = fake.repository("acme/kernels");
//! fake.pull(7, &first, "feature", "acme/kernels", "main");
//! let token = fake.token("github-actions[bot]", TokenKind::App, &[("pull_requests", "write")]);
//! fake.inject(Fault::new("POST", "/comments$", FaultKind::LostResponse));
//! … requests to fake.url() …
//! assert_eq!(fake.comments(7).len(), 1);
//! ```
//!
//! Every request and every answer is held against GitHub's own description (`fixtures/github`); what does not follow
//! it fails the test when the fake is dropped. Repositories are private, so that a permission that is missing shows.
//! Each fake has its own ports, thread and memory: many run side by side.

mod access;
mod actions;
pub mod base64;
mod call;
mod checks;
mod contract;
mod faults;
mod git;
mod issues;
mod pulls;
mod seeds;
mod server;
mod state;
mod world;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

#[cfg(feature = "bucket")]
pub use call::{decoded, parameters};
pub use faults::{Fault, FaultKind};
pub use seeds::RunSeed;
pub use world::{Check, Issue, Seen, TokenKind};

use server::Shared;
use world::World;

/// Runs until it is dropped.
pub struct FakeGithub {
    shared: Arc<Shared>,
    addresses: [SocketAddr; 2],
    thread: Option<JoinHandle<()>>,
}

impl FakeGithub {
    /// As api.github.com: the routes begin at the root.
    pub fn start() -> Self {
        Self::start_below("")
    }

    /// As a server of a company, whose API lies below a path: `/api/v3`.
    pub fn start_below(prefix: &str) -> Self {
        let mut world = World::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bind = |place: &str| runtime.block_on(tokio::net::TcpListener::bind(place));
        let api = bind("127.0.0.1:0").unwrap();
        // Loopback has more than one address, and so this is another host.
        let files = bind("127.0.0.2:0").or_else(|_| bind("127.0.0.1:0")).unwrap();
        let addresses = [api.local_addr().unwrap(), files.local_addr().unwrap()];
        world.api = format!("http://{}{prefix}", addresses[0]);
        world.files = format!("http://{}", addresses[1]);
        let shared = Arc::new(Shared {
            world: Mutex::new(world),
            stop: AtomicBool::new(false),
            prefix: prefix.into(),
        });
        let own = shared.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::spawn(server::serve(files, own.clone(), false));
                server::serve(api, own, true).await;
            });
        });
        Self { shared, addresses, thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`, and the path below which the API lies: what `GITHUB_API_URL` says.
    pub fn url(&self) -> String {
        self.shared.world().api.clone()
    }

    /// GitHub's names of the operations that the description has, and so the fake.
    pub fn operations() -> Vec<&'static str> {
        contract::Contract::shared().operations().map(|operation| operation.id.as_str()).collect()
    }

    /// Adds a fault; of several that meet a request, the one added first counts.
    pub fn inject(&self, fault: Fault) {
        self.shared.world().faults.push(fault);
    }

    /// No faults from here on. Gives how many requests met one.
    pub fn mend(&self) -> u32 {
        self.shared.world().faults.drain(..).map(|fault| fault.met).sum()
    }

    /// What was not as GitHub's description says so far. Taken here, it no longer fails the test.
    pub fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.world().violations)
    }
}

impl Drop for FakeGithub {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the listener.
        drop(TcpStream::connect(self.addresses[0]));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let violations = self.violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("not as GitHub's description says:\n{}", violations.join("\n"));
        }
    }
}
