//! The child protocol in a few lines: time a closure, send what was measured.

use std::io::Write;
use std::time::Instant;

pub fn measure(mut work: impl FnMut() -> u64) {
    let number = |name: &str, usual: u32| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or(usual),
        Err(_) => usual,
    };
    let path = std::env::var("GBENCH_EVENTS").unwrap_or("/dev/stdout".into());
    let mut channel = std::fs::OpenOptions::new().append(true).open(path).expect("the channel opens");
    let mut send = |line: String| channel.write_all(line.as_bytes()).expect("the channel takes a line");

    send("{\"event\":\"stage\",\"stage\":\"warmup\"}\n".into());
    let mut check = 0;
    for _ in 0..number("GBENCH_WARMUP", 3) {
        check = work();
    }
    send("{\"event\":\"stage\",\"stage\":\"measure\"}\n".into());
    let mut times = Vec::new();
    for _ in 0..number("GBENCH_ITERATIONS", 20) {
        let start = Instant::now();
        check ^= std::hint::black_box(work());
        times.push(start.elapsed().as_secs_f64().to_string());
    }
    send(format!("{{\"event\":\"samples\",\"values\":[{}],\"unit\":\"s\"}}\n", times.join(",")));
    send(format!("{{\"event\":\"metadata\",\"notes\":{{\"check\":{check}}}}}\n{{\"event\":\"end\"}}\n"));
}
