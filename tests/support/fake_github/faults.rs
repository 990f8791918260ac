//! What can go wrong on the way, and when.

use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use tokio::sync::Notify;

/// What happens to a request that a [`Fault`] meets.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// Answered so; nothing is done.
    Status(u16, String),
    /// Done, and then answered so: a server in between gave up.
    StatusAfter(u16, String),
    /// Done, and the connection is closed instead of an answer.
    LostResponse,
    /// Done, and the connection is closed in the middle of the answer.
    TornResponse,
    /// The connection is closed; nothing is done.
    Refused,
    /// Done, and answered later.
    Delay(Duration),
    /// Done, and answered once the test says so.
    Held(Arc<Notify>),
    /// 429 with `retry-after`, in seconds; nothing is done.
    RetryAfter(u64),
    /// 403 as GitHub answers to too many writes in a minute, without saying how long; nothing is done.
    SecondaryLimit,
    /// 403 as GitHub answers when the hour's requests are spent, with the seconds until it ends; nothing is done.
    PrimaryLimit(u64),
}

/// Which of the requests that fit meet the fault.
#[derive(Clone, Copy, Debug)]
enum When {
    /// Counted from one.
    Nth(u32),
    First(u32),
    Always,
    /// Each with this probability, by a generator of its own.
    Odds(f64, u64),
}

/// A fault for requests of a method (`*` for any) whose path, without query, fits a regular expression. The first one
/// that fits: see [`Fault::nth`], [`Fault::first`], [`Fault::always`], [`Fault::odds`] for others.
#[derive(Clone, Debug)]
pub struct Fault {
    method: String,
    path: Regex,
    kind: FaultKind,
    when: When,
    fitted: u32,
    /// Requests that it met.
    pub met: u32,
}

impl Fault {
    pub fn new(method: &str, path: &str, kind: FaultKind) -> Self {
        let (method, path) = (method.to_owned(), Regex::new(path).unwrap());
        Self { method, path, kind, when: When::Nth(1), fitted: 0, met: 0 }
    }

    /// The `n`th request that fits, counted from one.
    pub fn nth(self, n: u32) -> Self {
        Self { when: When::Nth(n), ..self }
    }

    /// The first `n` requests that fit.
    pub fn first(self, n: u32) -> Self {
        Self { when: When::First(n), ..self }
    }

    pub fn always(self) -> Self {
        Self { when: When::Always, ..self }
    }

    /// Each request that fits, with probability `p`; equal seeds give equal draws.
    pub fn odds(self, p: f64, seed: u64) -> Self {
        Self { when: When::Odds(p, seed), ..self }
    }

    /// What this request meets, if anything. Counts it.
    pub fn meets(&mut self, method: &str, path: &str) -> Option<FaultKind> {
        if (self.method != "*" && self.method != method) || !self.path.is_match(path) {
            return None;
        }
        self.fitted += 1;
        let met = match &mut self.when {
            When::Nth(n) => self.fitted == *n,
            When::First(n) => self.fitted <= *n,
            When::Always => true,
            When::Odds(p, state) => drawn(state) < *p,
        };
        self.met += u32::from(met);
        met.then(|| self.kind.clone())
    }
}

/// A number from 0 to 1 by SplitMix64 (Steele, Lea, Flood 2014).
fn drawn(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}
