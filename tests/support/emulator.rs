//! Somebody else's stateful emulator of GitHub (`emulate`), as a process of its own.
//!
//! It listens on every interface and has no flag against that; it lives for as long as one test.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::rest::Rest;
use super::tools;

/// Runs until it is dropped.
pub struct Emulator {
    pub url: String,
    /// The repository owner's.
    pub token: &'static str,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Emulator {
    /// With one public repository that has a commit on `main`. `None` where the program is not installed.
    pub fn start(slug: &str) -> Option<Self> {
        let program = tools::emulate()?;
        let (owner, name) = slug.split_once('/').unwrap();
        let folder = tempfile::tempdir().unwrap();
        let seed = folder.path().join("seed.yaml");
        let text = format!(
            "tokens:\n  test_token_admin:\n    login: {owner}\n    scopes: [repo]\n\
             github:\n  users:\n    - login: {owner}\n  repos:\n    - owner: {owner}\n      name: {name}\n      \
             auto_init: true\n"
        );
        std::fs::write(&seed, text).unwrap();
        // Somebody may take the port before it does; then another is tried.
        (0..5)
            .find_map(|_| {
                let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
                let mut command = Command::new(&program);
                command
                    .args(["start", "--service", "github", "--port", &port.to_string(), "--seed"])
                    .arg(&seed);
                let silent = command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
                let mut child = silent.stderr(Stdio::null()).spawn().unwrap();
                let url = format!("http://127.0.0.1:{port}");
                if answers(&url, &mut child) {
                    return Some((url, child));
                }
                let _ = child.kill();
                let _ = child.wait();
                None
            })
            .map(|(url, child)| Self { url, token: "test_token_admin", child, _folder: folder })
            .or_else(|| panic!("emulate is installed and does not start"))
    }
}

/// Whether it answers within half a minute, and is still there.
fn answers(url: &str, child: &mut Child) -> bool {
    let rest = Rest::new(url, None);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if rest.send("GET", "/rate_limit", None).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
