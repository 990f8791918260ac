//! The HTTP side: two listeners on one thread, the faults on the way, and the description held against all of it.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use serde_json::Value;
use tokio::net::TcpListener;

use super::access;
use super::call::{Call, Reply, decoded, parameters};
use super::contract::Contract;
use super::faults::FaultKind;
use super::world::{Seen, Token, TokenKind, World};
use super::{actions, checks, git, issues, pulls};
use crate::support::torn::Torn;

/// What the server's thread and the test share.
pub struct Shared {
    pub world: Mutex<World>,
    pub stop: AtomicBool,
    /// `/api/v3` of an Enterprise server, or nothing.
    pub prefix: String,
}

impl Shared {
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

type Answer = Response<BoxBody<Bytes, std::io::Error>>;

/// Serves until told to stop. `is_api` tells the API from the host that has the artifacts.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>, is_api: bool) {
    while let Ok((stream, _)) = listener.accept().await {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let shared = shared.clone();
        let service = hyper::service::service_fn(move |request| answer(request, shared.clone(), is_api));
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(hyper_util::rt::TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

/// An error closes the connection without an answer.
async fn answer(request: Request<Incoming>, shared: Arc<Shared>, is_api: bool) -> std::io::Result<Answer> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let arrived = Arrived {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or("").to_owned(),
        headers: parts.headers,
        bytes,
    };
    let (index, fault) = shared.arrive(&arrived, is_api);
    let closed = || Err(std::io::Error::other("the connection is closed"));
    let handled = match &fault {
        Some(FaultKind::Refused) => return closed(),
        Some(kind) if kind.comes_before() => kind.reply(),
        _ => {
            let panicked = || Outcome::of(Reply::refusal(500, "the fake panicked"));
            let handle = AssertUnwindSafe(|| shared.handle(&arrived, index, is_api));
            catch_unwind(handle).unwrap_or_else(|_| {
                shared
                    .world()
                    .violations
                    .push(format!("{} {}: the fake panicked", arrived.method, arrived.path));
                panicked()
            })
        }
    };
    let outcome = match &fault {
        Some(FaultKind::LostResponse) => return closed(),
        Some(FaultKind::StatusAfter(status, message)) => Outcome::of(Reply::refusal(*status, message)),
        Some(FaultKind::Delay(time)) => {
            tokio::time::sleep(*time).await;
            handled
        }
        Some(FaultKind::Held(release)) => {
            release.notified().await;
            handled
        }
        _ => handled,
    };
    let torn = matches!(fault, Some(FaultKind::TornResponse));
    let mut world = shared.world();
    world.seen[index].status = (!torn).then_some(outcome.status);
    outcome.response(&world, torn)
}

struct Arrived {
    method: String,
    path: String,
    query: String,
    headers: HeaderMap,
    bytes: Bytes,
}

/// An answer in bytes.
struct Outcome {
    status: u16,
    headers: Vec<(String, String)>,
    bytes: Vec<u8>,
}

impl Outcome {
    fn of(reply: Reply) -> Self {
        let mut headers = reply.headers;
        let bytes = match reply.body {
            Some(body) => {
                headers.push(("content-type".into(), "application/json; charset=utf-8".into()));
                serde_json::to_vec(&body).unwrap()
            }
            None => Vec::new(),
        };
        Self { status: reply.status, headers, bytes }
    }

    fn response(self, world: &World, torn: bool) -> std::io::Result<Answer> {
        let (left, until) = world.rate;
        let until = until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut response = Response::builder().status(self.status);
        let own = |name: &str| self.headers.iter().any(|(other, _)| other == name);
        for (name, value) in [("x-ratelimit-limit", 1000_u32), ("x-ratelimit-remaining", left)] {
            if !own(name) {
                response = response.header(name, value);
            }
        }
        if !own("x-ratelimit-reset") {
            response = response.header("x-ratelimit-reset", until);
        }
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let body = match torn {
            true => BodyExt::boxed(Torn::new(self.bytes)),
            false => Full::new(self.bytes.into()).map_err(|never: Infallible| match never {}).boxed(),
        };
        response.body(body).map_err(std::io::Error::other)
    }
}

impl FaultKind {
    /// Whether it stands in for the handling.
    fn comes_before(&self) -> bool {
        use FaultKind::{PrimaryLimit, Refused, RetryAfter, SecondaryLimit, Status};
        matches!(self, Status(..) | Refused | RetryAfter(_) | SecondaryLimit | PrimaryLimit(_))
    }

    fn reply(&self) -> Outcome {
        let secondary =
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        Outcome::of(match self {
            FaultKind::Status(status, message) => Reply::refusal(*status, message),
            FaultKind::RetryAfter(seconds) => Reply::refusal(429, secondary).header("retry-after", seconds),
            FaultKind::SecondaryLimit => Reply::refusal(403, secondary),
            FaultKind::PrimaryLimit(seconds) => spent(SystemTime::now() + Duration::from_secs(*seconds)),
            _ => Reply::refusal(500, "no such fault"),
        })
    }
}

/// The refusal of a client whose hour's requests are spent.
fn spent(until: SystemTime) -> Reply {
    let until = until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Reply::refusal(403, "API rate limit exceeded for installation.")
        .header("x-ratelimit-remaining", 0)
        .header("x-ratelimit-reset", until)
}

impl Shared {
    /// Writes the request down and looks whether a fault meets it.
    fn arrive(&self, arrived: &Arrived, is_api: bool) -> (usize, Option<FaultKind>) {
        let mut world = self.world();
        let path = match is_api {
            true => arrived.path.strip_prefix(&self.prefix).unwrap_or(&arrived.path).to_owned(),
            false => arrived.path.clone(),
        };
        let fault = world.faults.iter_mut().find_map(|fault| fault.meets(&arrived.method, &path));
        let login = authorization(&arrived.headers)
            .and_then(|text| access::known(&world, Some(text), false).ok())
            .map(|token| token.login);
        world.seen.push(Seen {
            method: arrived.method.clone(),
            path,
            query: arrived.query.clone(),
            operation: None,
            body: serde_json::from_slice(&arrived.bytes).unwrap_or_default(),
            login,
            status: None,
            handled: false,
            sent_at: SystemTime::now(),
        });
        (world.seen.len() - 1, fault)
    }

    fn handle(&self, arrived: &Arrived, index: usize, is_api: bool) -> Outcome {
        let mut world = self.world();
        if !is_api {
            let got =
                actions::file(&mut world, &arrived.path, &arrived.query, authorization(&arrived.headers));
            world.seen[index].handled = got.is_ok();
            return match got {
                Ok(bytes) => {
                    Outcome { status: 200, headers: vec![("content-type".into(), "zip".into())], bytes }
                }
                Err(status) => Outcome { status, headers: Vec::new(), bytes: Vec::new() },
            };
        }
        let Some(path) = arrived.path.strip_prefix(&self.prefix) else {
            let place = format!("{} {}", arrived.method, arrived.path);
            world.violations.push(format!("{place}: the API lies below {}", self.prefix));
            return Outcome::of(Reply::not_found());
        };
        let (left, until) = world.rate;
        if left == 0 && SystemTime::now() < until {
            return Outcome::of(spent(until));
        }
        world.rate.0 = left.saturating_sub(1);
        Outcome::of(self.operate(&mut world, arrived, path, index))
    }

    fn operate(&self, world: &mut World, arrived: &Arrived, path: &str, index: usize) -> Reply {
        let contract = Contract::shared();
        let place = format!("{} {path}", arrived.method);
        let is_write = arrived.method != "GET";
        for wrong in wrong_headers(&arrived.headers, !arrived.bytes.is_empty()) {
            world.violations.push(format!("{place}: {wrong}"));
        }
        let Some((operation, names)) = contract.find(&arrived.method, path) else {
            world.violations.push(format!("{place}: no operation of the description"));
            return Reply::not_found();
        };
        world.seen[index].operation = Some(operation.id.clone());
        if !arrived.headers.contains_key("user-agent") {
            return Reply::refusal(403, "Request forbidden by administrative rules.");
        }
        let body = match arrived.bytes.is_empty() {
            true => None,
            false => match serde_json::from_slice::<Value>(&arrived.bytes) {
                Ok(body) => Some(body),
                Err(_) => {
                    world.violations.push(format!("{place}: the body is no JSON"));
                    return Reply::refusal(400, "Problems parsing JSON");
                }
            },
        };
        let query = parameters(&arrived.query);
        let complaints = contract.check_request(operation, &query, body.as_ref());
        for complaint in complaints.wrong.iter().chain(&complaints.unknown) {
            world.violations.push(format!("{place}: {complaint}"));
        }
        let token = match access::known(world, authorization(&arrived.headers), is_write) {
            Ok(token) => token,
            // How much is left may be asked by anyone.
            Err(_) if operation.id == "rate-limit/get" => Token {
                text: String::new(),
                login: "nobody".into(),
                kind: TokenKind::User,
                permissions: Default::default(),
            },
            Err(reply) => return reply,
        };
        let call = Call {
            operation: operation.id.clone(),
            path: path.to_owned(),
            names: names.into_iter().map(|(name, text)| (name, decoded(&text))).collect(),
            query,
            body: body.unwrap_or_default(),
            token,
        };
        let mut reply = match dispatch(world, &call, &complaints.wrong) {
            Ok(reply) => {
                world.seen[index].handled = true;
                reply
            }
            Err(refusal) => refusal,
        };
        if let Some(body) = reply.body.as_mut().filter(|_| reply.status < 300) {
            contract.complete(operation, reply.status, body);
        }
        for wrong in contract.check_answer(operation, reply.status, reply.body.as_ref()) {
            world.violations.push(format!("{place}: the fake's own answer {}: {wrong}", reply.status));
        }
        reply
    }
}

fn dispatch(world: &mut World, call: &Call, wrong: &[String]) -> Result<Reply, Reply> {
    if call.names.contains_key("owner") {
        call.repository(world)?;
    }
    let is_pull = issues::is_pull(world, call);
    access::allowed(&call.token, &call.operation, is_pull)?;
    if let Some(first) = wrong.first() {
        let missing =
            first.split_once(": ").and_then(|(_, what)| what.strip_suffix(" is a required property"));
        let said = missing.map_or_else(|| first.clone(), |name| format!("{name} wasn't supplied."));
        return Err(Reply::refusal(422, &format!("Invalid request.\n\n{said}")));
    }
    match call.operation.split('/').next().unwrap_or("") {
        "issues" => issues::handle(world, call),
        "checks" => checks::handle(world, call),
        "git" => git::handle(world, call),
        "repos" if call.operation == "repos/get-content" => git::handle(world, call),
        "actions" => actions::handle(world, call),
        "repos" if call.operation.contains("status") => checks::handle(world, call),
        _ => pulls::handle(world, call),
    }
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get("authorization")?.to_str().ok()
}

/// What GitHub's documentation asks of every request, and what is sent twice.
fn wrong_headers(headers: &HeaderMap, has_body: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in ["authorization", "accept", "content-type", "user-agent", "x-github-api-version"] {
        if headers.get_all(name).iter().count() > 1 {
            wrong.push(format!("the header `{name}` is sent twice"));
        }
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    if text("user-agent").is_empty() {
        wrong.push("there is no `user-agent`".into());
    }
    if has_body && !text("content-type").starts_with("application/json") {
        wrong.push(format!("the body is sent as `{}`", text("content-type")));
    }
    wrong
}
