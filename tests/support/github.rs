//! A client for the fake GitHub, and names that several tests use.

use std::time::Duration;

use gbench_ci::github::{Client, ClientLimits, Endpoint, Sha, Token};

use super::fake_github::{FakeGithub, Fault, FaultKind};

pub const SLUG: &str = "acme/kernels";

/// Quick pauses and many tries: what is tested is what is done, not how long it takes.
pub const LIMITS: ClientLimits = ClientLimits {
    requests: 20_000,
    attempts: 12,
    pause: Duration::from_millis(1),
    max_wait: Duration::from_secs(5),
    timeout: Duration::from_secs(120),
    answer: 1 << 20,
};

pub fn client(fake: &FakeGithub, token: &str) -> Client {
    client_within(fake, token, LIMITS)
}

pub fn client_within(fake: &FakeGithub, token: &str, limits: ClientLimits) -> Client {
    let endpoint = Endpoint::new(Some(&fake.url()), None).unwrap();
    Client::new(&endpoint, &SLUG.parse().unwrap(), Some(&Token::new(token).unwrap()), limits).unwrap()
}

/// A made-up commit: the byte, twenty times.
pub fn sha(byte: u8) -> Sha {
    format!("{byte:02x}").repeat(20).parse().unwrap()
}

/// Every kind of trouble on every route, each with the same small probability.
pub fn trouble(fake: &FakeGithub, seed: u64) {
    let kinds = [
        FaultKind::Status(502, "Bad Gateway".into()),
        FaultKind::StatusAfter(504, "Gateway Timeout".into()),
        FaultKind::LostResponse,
        FaultKind::TornResponse,
        FaultKind::Refused,
        FaultKind::RetryAfter(0),
    ];
    for (at, kind) in kinds.into_iter().enumerate() {
        fake.inject(Fault::new("*", ".", kind).odds(0.07, seed * 100 + at as u64));
    }
}
