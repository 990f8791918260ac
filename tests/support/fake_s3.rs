//! A server of buckets in this process, after the published API of S3: the requests that a history needs, and faults on demand.
//!
//! It keeps objects in memory, or passes what arrives on to a real server. What a history must never send (an overwriting
//! `PUT`, a `DELETE`, a request without a signature) fails the test when the fake is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::SystemTime;

use http::{HeaderMap, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use super::fake_github::{Fault, FaultKind, decoded, parameters};
use crate::support::torn::Torn;

/// The bucket that is there.
pub const BUCKET: &str = "bench";
const ACCESS_KEY: &str = "gate";

/// Runs until it is dropped.
pub struct FakeS3 {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    stop: AtomicBool,
    /// The server that has the objects; nothing: they are in memory.
    behind: Option<(String, reqwest::Client)>,
}

struct State {
    objects: BTreeMap<String, Object>,
    faults: Vec<Fault>,
    /// Method and path of each, in their order.
    requests: Vec<(String, String)>,
    violations: Vec<String>,
    /// Keys of one answer to a list.
    page: usize,
}

struct Object {
    bytes: Vec<u8>,
    written: SystemTime,
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    bytes: Vec<u8>,
}

impl Answer {
    fn new(status: u16, bytes: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), bytes: bytes.into() }
    }

    fn error(status: u16, code: &str) -> Self {
        let xml = "application/xml".to_owned();
        let text =
            format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{code}</Message></Error>");
        Self { headers: vec![("content-type".into(), xml)], ..Self::new(status, text) }
    }
}

impl FakeS3 {
    /// With its objects in memory.
    pub fn start() -> Self {
        Self::serving(None)
    }

    /// Passes what arrives on to the server at this address: `http://127.0.0.1:8333`.
    pub fn in_front_of(server: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self::serving(Some((server.to_owned(), reqwest::Client::new())))
    }

    fn serving(behind: Option<(String, reqwest::Client)>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            objects: BTreeMap::new(),
            faults: Vec::new(),
            requests: Vec::new(),
            violations: Vec::new(),
            page: 1_000,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), stop: AtomicBool::new(false), behind });
        let own = shared.clone();
        let thread = std::thread::spawn(move || runtime.block_on(serve(listener, own)));
        Self { shared, address, thread: Some(thread) }
    }

    /// What a user of this server has in the environment.
    pub fn variables(&self) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            // Some answers never come.
            ("AWS_TIMEOUT", "5s"),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// Adds a fault; of several that meet a request, the one added first counts.
    pub fn inject(&self, fault: Fault) {
        self.shared.state().faults.push(fault);
    }

    /// No faults from here on. Gives how many requests met one.
    pub fn mend(&self) -> u32 {
        self.shared.state().faults.drain(..).map(|fault| fault.met).sum()
    }

    /// Method and path of the requests since the last time.
    pub fn requests(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.shared.state().requests)
    }

    /// The keys of all objects, in their order.
    pub fn keys(&self) -> Vec<String> {
        let Some((server, _)) = &self.shared.behind else {
            return self.shared.state().objects.keys().cloned().collect();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (client, key) = (reqwest::Client::new(), regex::Regex::new("<Key>([^<]+)</Key>").unwrap());
        let mut keys: Vec<String> = Vec::new();
        loop {
            let after = keys.last().map_or("", String::as_str);
            let url = format!("{server}/{BUCKET}?list-type=2&start-after={after}");
            let text = runtime.block_on(async { client.get(url).send().await?.text().await }).unwrap();
            let before = keys.len();
            keys.extend(key.captures_iter(&text).map(|found| found[1].to_owned()));
            if keys.len() == before {
                return keys;
            }
        }
    }

    pub fn object(&self, key: &str) -> Vec<u8> {
        self.shared.state().objects[key].bytes.clone()
    }

    /// Puts an object there as a person would, at a time.
    pub fn by_hand(&self, key: &str, bytes: &[u8], written: SystemTime) {
        self.shared.state().objects.insert(key.to_owned(), Object { bytes: bytes.to_vec(), written });
    }

    pub fn page(&self, keys: usize) {
        self.shared.state().page = keys;
    }
}

impl Drop for FakeS3 {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the listener.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let violations = std::mem::take(&mut self.shared.state().violations);
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("not what a history may send:\n{}", violations.join("\n"));
        }
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let shared = shared.clone();
        let service = hyper::service::service_fn(move |request| answer(request, shared.clone()));
        let connection = hyper::server::conn::http1::Builder::new()
            .serve_connection(hyper_util::rt::TokioIo::new(stream), service);
        tokio::spawn(connection);
    }
}

/// An error closes the connection without an answer.
async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> std::io::Result<Response<BoxBody<Bytes, std::io::Error>>> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let (method, path) = (parts.method.as_str(), parts.uri.path().to_owned());
    let fault = shared.arrive(method, &path, &parts.headers);
    let closed = || Err(std::io::Error::other("the connection is closed"));
    let code = |status: u16| if status == 412 { "PreconditionFailed" } else { "SlowDown" };
    let answer = match &fault {
        Some(FaultKind::Refused) => return closed(),
        // As if it was done.
        Some(FaultKind::Status(200, _)) => {
            Answer { headers: vec![("etag".into(), etag(&bytes))], ..Answer::new(200, "") }
        }
        Some(FaultKind::Status(status, _)) => Answer::error(*status, code(*status)),
        _ => match &shared.behind {
            Some((server, client)) => passed_on(server, client, &parts, bytes).await,
            None => shared.handle(method, &path, parts.uri.query().unwrap_or(""), &parts.headers, &bytes),
        },
    };
    let answer = match &fault {
        Some(FaultKind::LostResponse) => return closed(),
        Some(FaultKind::StatusAfter(status, _)) => Answer::error(*status, code(*status)),
        Some(FaultKind::Held(release)) => {
            release.notified().await;
            answer
        }
        Some(FaultKind::Delay(time)) => {
            tokio::time::sleep(*time).await;
            answer
        }
        _ => answer,
    };
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let body = match fault {
        Some(FaultKind::TornResponse) => {
            let half = answer.bytes.len() / 2;
            BodyExt::boxed(Torn::new(answer.bytes[..half].to_vec()))
        }
        _ => Full::new(answer.bytes.into()).map_err(|never: Infallible| match never {}).boxed(),
    };
    response.body(body).map_err(std::io::Error::other)
}

async fn passed_on(
    server: &str,
    client: &reqwest::Client,
    parts: &http::request::Parts,
    bytes: Bytes,
) -> Answer {
    let url = format!("{server}{}", parts.uri);
    let request = client.request(parts.method.clone(), url).headers(parts.headers.clone()).body(bytes);
    let Ok(response) = request.send().await else { return Answer::error(502, "BadGateway") };
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let Ok(bytes) = response.bytes().await else { return Answer::error(502, "BadGateway") };
    let of_answer = |name: &str| !["content-length", "transfer-encoding", "connection"].contains(&name);
    let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let kept = headers.iter().filter(|(name, _)| of_answer(name.as_str()));
    Answer {
        headers: kept.map(|(name, value)| (name.to_string(), text(value))).collect(),
        ..Answer::new(status, bytes)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn arrive(&self, method: &str, path: &str, headers: &HeaderMap) -> Option<FaultKind> {
        let mut state = self.state();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let signed = format!("AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/");
        let wrong = match method {
            _ if !header("authorization").starts_with(&signed) => Some("it is not signed"),
            "PUT" if header("if-none-match") != "*" => Some("it may replace an object"),
            "GET" | "PUT" => None,
            _ => Some("a history neither removes nor asks this"),
        };
        state.violations.extend(wrong.map(|wrong| format!("{method} {path}: {wrong}")));
        state.requests.push((method.to_owned(), path.to_owned()));
        state.faults.iter_mut().find_map(|fault| fault.meets(method, path))
    }

    fn handle(&self, method: &str, path: &str, query: &str, headers: &HeaderMap, bytes: &[u8]) -> Answer {
        let path = decoded(path);
        let (bucket, key) = path.trim_start_matches('/').split_once('/').unwrap_or((&path[1..], ""));
        if bucket != BUCKET {
            return Answer::error(404, "NoSuchBucket");
        }
        let mut state = self.state();
        match (method, key) {
            ("GET", "") => state.list(&parameters(query)),
            ("GET", key) => match state.objects.get(key) {
                Some(object) => {
                    part(&object.bytes, headers.get("range").and_then(|range| range.to_str().ok()))
                }
                None => Answer::error(404, "NoSuchKey"),
            },
            ("PUT", key) if headers.contains_key("if-none-match") && state.objects.contains_key(key) => {
                Answer::error(412, "PreconditionFailed")
            }
            ("PUT", key) => {
                let object = Object { bytes: bytes.to_vec(), written: SystemTime::now() };
                state.objects.insert(key.to_owned(), object);
                Answer { headers: vec![("etag".into(), etag(bytes))], ..Answer::new(200, "") }
            }
            _ => Answer::error(501, "NotImplemented"),
        }
    }
}

impl State {
    /// `ListObjectsV2`.
    fn list(&self, query: &[(String, String)]) -> Answer {
        let value =
            |name: &str| query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let (prefix, delimiter) = (value("prefix").unwrap_or(""), value("delimiter"));
        let after = value("continuation-token").or(value("start-after")).unwrap_or("");
        let (mut contents, mut folders, mut last) = (String::new(), BTreeSet::new(), None);
        let (mut count, mut truncated) = (0, false);
        for (key, object) in self.objects.iter().filter(|(key, _)| key.starts_with(prefix)) {
            let below = delimiter.and_then(|delimiter| key[prefix.len()..].split_once(delimiter));
            let folder = below.map(|(folder, _)| format!("{prefix}{folder}/"));
            let name = folder.as_ref().unwrap_or(key);
            if name.as_str() <= after || folder.as_ref().is_some_and(|folder| folders.contains(folder)) {
                continue;
            }
            if count == self.page {
                truncated = true;
                break;
            }
            count += 1;
            last = Some(name.clone());
            match folder {
                Some(folder) => drop(folders.insert(folder)),
                None => write!(
                    contents,
                    "<Contents><Key>{key}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                    humantime::format_rfc3339_seconds(object.written),
                    etag(&object.bytes).replace('"', "&quot;"),
                    object.bytes.len()
                )
                .unwrap(),
            }
        }
        for folder in folders {
            write!(contents, "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>").unwrap();
        }
        let next = last.filter(|_| truncated);
        let next = next.map_or_else(String::new, |last| {
            format!("<NextContinuationToken>{last}</NextContinuationToken>")
        });
        let text = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><Name>{BUCKET}</Name><Prefix>{prefix}</Prefix>\
             <KeyCount>{count}</KeyCount><IsTruncated>{truncated}</IsTruncated>{next}{contents}</ListBucketResult>"
        );
        Answer { headers: vec![("content-type".into(), "application/xml".into())], ..Answer::new(200, text) }
    }
}

/// An object, or the part of it that is asked for: the rest of one whose answer has broken off.
fn part(bytes: &[u8], range: Option<&str>) -> Answer {
    let tag = ("etag".to_owned(), etag(bytes));
    let Some(range) = range else { return Answer { headers: vec![tag], ..Answer::new(200, bytes) } };
    let (from, to) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let from: usize = from.parse().unwrap();
    let to = to.parse::<usize>().map_or(bytes.len(), |last| (last + 1).min(bytes.len()));
    if from >= to {
        return Answer::error(416, "InvalidRange");
    }
    let place = format!("bytes {from}-{}/{}", to - 1, bytes.len());
    Answer { headers: vec![tag, ("content-range".into(), place)], ..Answer::new(206, &bytes[from..to]) }
}

fn etag(bytes: &[u8]) -> String {
    let digest: String = Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digest}\"")
}
