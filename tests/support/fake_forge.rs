//! A GitLab, a Gitea and a receiver of webhooks in this process, with state and with faults on demand.
//!
//! They are no real servers: neither can be installed from a package here. Written from GitLab's API documentation
//! (doc/api/notes.md, merge_requests.md, commits.md) and Gitea's swagger annotations (routers/api/v1/repo/issue_comment.go,
//! status.go), for the routes that `publish` uses and no others: any other route is answered 404 and noted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What goes wrong with the next request that fits.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// It is done, and the connection closes without an answer.
    LostAnswer,
    /// It is not done: status, message and seconds of `retry-after`.
    Refused(u16, &'static str, Option<u32>),
    /// It is not done: the answer is at this address.
    Elsewhere(String),
}

#[derive(Clone, Debug)]
pub struct Arrived {
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Arrived {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, Debug)]
pub struct Posted {
    pub id: u64,
    pub author: String,
    pub body: String,
}

#[derive(Default)]
pub struct World {
    pub seen: Vec<Arrived>,
    pub notes: Vec<Posted>,
    /// As they were posted.
    pub statuses: Vec<Value>,
    /// Method, a part of the path, and how often.
    mishaps: Vec<(&'static str, &'static str, u32, Mishap)>,
    /// Routes that no documentation of ours has.
    pub unknown: Vec<String>,
    head: String,
    next: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    GitLab,
    Gitea,
    Receiver,
}

/// Runs until it is dropped.
pub struct FakeForge {
    world: Arc<Mutex<World>>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

pub const TOKEN: &str = "glpat-ThisIsTheTokenOfTheTest0";
/// The account of the token.
pub const ME: &str = "gbench-bot";

impl FakeForge {
    /// With pull request 42 of `acme/kernels`, whose head is this commit.
    pub fn start(kind: Kind, head: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let world = Arc::new(Mutex::new(World { head: head.into(), next: 100, ..World::default() }));
        let shared = world.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                if !serve(stream, kind, &shared) {
                    return;
                }
            }
        });
        Self { world, address, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn mishap(&self, method: &'static str, part: &'static str, times: u32, mishap: Mishap) {
        self.world().mishaps.push((method, part, times, mishap));
    }

    pub fn count(&self, method: &str, part: &str) -> usize {
        let fits = |arrived: &&Arrived| arrived.method == method && arrived.path.contains(part);
        self.world().seen.iter().filter(fits).count()
    }
}

impl Drop for FakeForge {
    fn drop(&mut self) {
        // Wakes the listener, which ends at a connection without a request.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let unknown = std::mem::take(&mut self.world().unknown);
        assert!(unknown.is_empty() || std::thread::panicking(), "no such routes: {unknown:?}");
    }
}

/// False where the connection brought no request.
fn serve(mut stream: TcpStream, kind: Kind, world: &Mutex<World>) -> bool {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return false;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let arrived = Arrived { method, path, headers, body };
    let mut world = world.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    world.seen.push(arrived.clone());
    let fits = |(method, part, times, _): &(&str, &str, u32, Mishap)| {
        *times > 0 && arrived.method == *method && arrived.path.contains(part)
    };
    let mishap = world.mishaps.iter_mut().find(|mishap| fits(mishap)).map(|mishap| {
        mishap.2 -= 1;
        mishap.3.clone()
    });
    let (status, more, answer) = match &mishap {
        Some(Mishap::Refused(status, message, after)) => {
            let after = after.map_or(String::new(), |seconds| format!("retry-after: {seconds}\r\n"));
            (*status, after, json!({ "message": message }))
        }
        Some(Mishap::Elsewhere(address)) => (307, format!("location: {address}\r\n"), Value::Null),
        _ => {
            let (status, answer) = world.answer(kind, &arrived);
            (status, String::new(), answer)
        }
    };
    if matches!(mishap, Some(Mishap::LostAnswer)) {
        return true;
    }
    let text = if answer.is_null() { String::new() } else { answer.to_string() };
    let length = text.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    );
    true
}

impl World {
    fn answer(&mut self, kind: Kind, arrived: &Arrived) -> (u16, Value) {
        if kind == Kind::Receiver {
            return (204, Value::Null);
        }
        if arrived.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
            return (401, json!({ "message": "401 Unauthorized" }));
        }
        let (path, query) = arrived.path.split_once('?').unwrap_or((&arrived.path, ""));
        let body: Value = serde_json::from_slice(&arrived.body).unwrap_or_default();
        let known = match kind {
            Kind::GitLab => self.gitlab(&arrived.method, path, query, &body),
            _ => self.gitea(&arrived.method, path, query, &body),
        };
        known.unwrap_or_else(|| {
            self.unknown.push(format!("{} {}", arrived.method, arrived.path));
            (404, json!({ "message": "404 Not Found" }))
        })
    }

    fn gitlab(&mut self, method: &str, path: &str, query: &str, body: &Value) -> Option<(u16, Value)> {
        if path == "/api/v4/user" {
            return Some((200, json!({ "id": 7, "username": ME, "state": "active" })));
        }
        let rest = path.strip_prefix("/api/v4/projects/acme%2Fgpu%2Fkernels/")?;
        let note = |note: &Posted| {
            json!({ "id": note.id, "body": note.body, "author": { "id": 7, "username": note.author },
                    "system": false, "noteable_iid": 42, "internal": false })
        };
        let parts: Vec<&str> = rest.split('/').collect();
        Some(match (method, parts.as_slice()) {
            ("GET", ["merge_requests", "42"]) => {
                (200, json!({ "iid": 42, "sha": self.head, "discussion_locked": null, "state": "opened" }))
            }
            ("GET", ["merge_requests", "42", "notes"]) => {
                assert!(query.contains("per_page=100"), "{query}");
                (200, self.notes.iter().map(note).collect())
            }
            ("POST", ["merge_requests", "42", "notes"]) => {
                let text = body["body"].as_str()?;
                if text.chars().count() > 1_000_000 {
                    return Some((400, json!({ "message": { "note": ["is too long"] } })));
                }
                (201, note(self.add_note(text)))
            }
            (method @ ("PUT" | "DELETE"), ["merge_requests", "42", "notes", id]) => {
                self.change(method, id.parse().ok()?, body).map_or_else(not_found, |it| (200, note(&it)))
            }
            ("GET", ["repository", "commits", sha, "statuses"]) => {
                let wanted = query.split('&').find_map(|pair| pair.strip_prefix("name="))?;
                let fits = |status: &&Value| status["sha"] == *sha && encoded(&status["name"]) == wanted;
                // Without `all=true` the last one of each name.
                (200, self.statuses.iter().rev().find(fits).into_iter().cloned().collect())
            }
            ("POST", ["statuses", sha]) => {
                let state = body["state"].as_str()?;
                if !["pending", "running", "success", "failed", "canceled", "skipped"].contains(&state) {
                    return Some((400, json!({ "error": "state does not have a valid value" })));
                }
                let status = json!({ "id": self.number(), "sha": sha, "status": state, "name": body["context"],
                                     "description": body["description"], "target_url": body["target_url"],
                                     "pipeline_id": body["pipeline_id"] });
                self.statuses.push(status.clone());
                (201, status)
            }
            _ => return None,
        })
    }

    fn gitea(&mut self, method: &str, path: &str, query: &str, body: &Value) -> Option<(u16, Value)> {
        if path == "/api/v1/user" {
            return Some((200, json!({ "id": 7, "login": ME, "username": ME })));
        }
        let rest = path.strip_prefix("/api/v1/repos/acme/kernels/")?;
        let comment = |note: &Posted| {
            json!({ "id": note.id, "body": note.body, "user": { "id": 7, "login": note.author, "username": note.author },
                    "html_url": format!("https://git.example.com/acme/kernels/pulls/42#issuecomment-{}", note.id) })
        };
        let head = json!({ "sha": self.head, "ref": "faster-gemm", "repo": { "full_name": "acme/kernels" } });
        let base = json!({ "sha": "3".repeat(40), "ref": "main", "repo": { "full_name": "acme/kernels" } });
        let pull = json!({ "number": 42, "state": "open", "is_locked": false, "head": head, "base": base });
        let parts: Vec<&str> = rest.split('/').collect();
        Some(match (method, parts.as_slice()) {
            ("GET", ["pulls"]) => (200, if query.contains("page=1") { json!([pull]) } else { json!([]) }),
            ("GET", ["pulls", "42"]) => (200, pull),
            // All of them, whatever page is asked for.
            ("GET", ["issues", "42", "comments"]) => (200, self.notes.iter().map(comment).collect()),
            ("POST", ["issues", "42", "comments"]) => (201, comment(self.add_note(body["body"].as_str()?))),
            (method @ ("PATCH" | "DELETE"), ["issues", "comments", id]) => {
                self.change(method, id.parse().ok()?, body).map_or_else(not_found, |it| (200, comment(&it)))
            }
            ("GET", ["commits", sha, "status"]) => {
                let mut last: Vec<Value> = Vec::new();
                for status in self.statuses.iter().rev().filter(|status| status["sha"] == **sha) {
                    if !last.iter().any(|known| known["context"] == status["context"]) {
                        last.push(status.clone());
                    }
                }
                // Versions before 1.20 answer nothing where there is none.
                (200, if last.is_empty() { Value::Null } else { json!({ "sha": sha, "statuses": last }) })
            }
            ("POST", ["statuses", sha]) => {
                let state = body["state"].as_str()?;
                if !["pending", "success", "error", "failure", "warning"].contains(&state) {
                    return Some((422, json!({ "message": "invalid state" })));
                }
                let status = json!({ "id": self.number(), "sha": sha, "status": state, "context": body["context"],
                                     "description": body["description"], "target_url": body["target_url"] });
                self.statuses.push(status.clone());
                (201, status)
            }
            _ => return None,
        })
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add_note(&mut self, text: &str) -> &Posted {
        let id = self.number();
        self.notes.push(Posted { id, author: ME.into(), body: text.into() });
        self.notes.last().unwrap()
    }

    fn change(&mut self, method: &str, id: u64, body: &Value) -> Option<Posted> {
        let at = self.notes.iter().position(|note| note.id == id && note.author == ME)?;
        if method == "DELETE" {
            return Some(self.notes.remove(at));
        }
        self.notes[at].body = body["body"].as_str()?.into();
        Some(self.notes[at].clone())
    }
}

fn not_found() -> (u16, Value) {
    (404, json!({ "message": "404 Not found" }))
}

fn encoded(name: &Value) -> String {
    name.as_str().unwrap_or_default().replace(' ', "%20").replace('/', "%2F")
}
