//! The log of `compute-sanitizer --log-file`.
//!
//! ```text
//! ========= COMPUTE-SANITIZER
//! ========= Invalid __global__ write of size 4 bytes
//! =========     at saxpy(int, float *)+0x90 in saxpy.cu:9
//! =========     by thread (0,0,0) in block (0,0,0)
//! =========
//! ========= ERROR SUMMARY: 1 error
//! ```

/// Longer lines, such as those with the arguments of a template, are cut.
const LONGEST: usize = 300;

/// Its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SanitizerLog {
    /// Without title and summary, each as one line with its place, in their order.
    pub messages: Vec<String>,
    /// It ends with a summary, without which it may not have looked at anything.
    pub has_summary: bool,
}

pub fn read_sanitizer_log(log: &str) -> SanitizerLog {
    let own = log.lines().filter_map(|line| line.strip_prefix("=========")).map(str::trim_end);
    let mut read = SanitizerLog::default();
    let mut wants_place = false;
    for line in own.skip(1) {
        let is_detail = line.starts_with("  ");
        let text = line.trim_start();
        let is_summary = text.contains(" SUMMARY: ");
        read.has_summary |= is_summary;
        if text.is_empty() || is_summary {
            wants_place = false;
        } else if !is_detail {
            read.messages.push(text.chars().take(LONGEST).collect());
            wants_place = true;
        } else if wants_place && text.starts_with("at ") {
            if let Some(last) = read.messages.last_mut() {
                *last = [last.as_str(), text].join(" ").chars().take(LONGEST).collect();
            }
            wants_place = false;
        }
    }
    read
}
