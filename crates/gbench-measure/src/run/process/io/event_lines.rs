//! Parses bytes from the channel into events, line by line, within bounds.

use gbench_model::line::{self, Event, LineError, MAX_LINE};

/// No benchmark needs more than this: a child that writes more is broken.
const MAX_BYTES: u64 = 64 << 20;

/// Splits a child's bytes into events. Reading stops at the first bad line, since later lines cannot be trusted.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub events: Vec<Event>,
    bad_line: Option<(usize, LineError)>,
    rest: Vec<u8>,
    lines: usize,
    bytes: u64,
}

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.is_over_limit() {
            return;
        }
        let mut bytes = bytes;
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.rest);
            self.line(&line);
        }
        // An endless line is bad long before it fills the memory.
        if self.bad_line.is_some() || self.rest.len() > MAX_LINE {
            self.overlong()
        } else {
            self.rest.extend_from_slice(bytes)
        }
    }

    fn overlong(&mut self) {
        let bytes = self.rest.len();
        self.rest.clear();
        self.bad_line.get_or_insert((self.lines + 1, LineError::TooLong { bytes }));
    }

    fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        if self.bad_line.is_some() || line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match line::parse(line) {
            Ok(_) if matches!(self.events.last(), Some(Event::End {})) => {
                let what = "it follows the event `end`, which is the last".into();
                self.bad_line = Some((self.lines, LineError::Malformed { what }));
            }
            Ok(event) => self.events.push(event),
            Err(error) => self.bad_line = Some((self.lines, error)),
        }
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.bad_line.is_some()
    }

    pub(crate) fn is_over_limit(&self) -> bool {
        self.bytes > MAX_BYTES
    }

    /// All events, and the first bad line with its number from 1. A last line without its end is accepted if it is complete,
    /// and otherwise bad.
    pub(crate) fn finish(mut self) -> (Vec<Event>, Option<(usize, LineError)>) {
        if !self.rest.is_empty() {
            let line = std::mem::take(&mut self.rest);
            self.line(&line);
        }
        (self.events, self.bad_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let mut lines = Lines::default();
        for _ in 0..64 {
            lines.push(&[b'x'; 1 << 16]);
        }
        assert!(lines.rest.len() <= MAX_LINE + (1 << 16));
        assert!(matches!(lines.finish().1, Some((1, LineError::TooLong { .. }))));
    }
}
