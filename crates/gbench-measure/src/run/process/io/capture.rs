//! A child's output within bounds: the beginning and the end are kept, the middle is counted.

use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub struct Capture {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.limit / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let tail_limit = self.limit - self.limit / 2;
        // Only the last `tail_limit` bytes of a large write can be kept.
        let rest = &rest[rest.len().saturating_sub(tail_limit)..];
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(tail_limit);
        self.tail.drain(..over);
    }

    pub fn forgotten(&self) -> Self {
        Self { total: self.total, ..Self::new(0) }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn is_whole(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }

    /// The kept bytes, with a line that shows how much is missing, if anything is.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        if !self.is_whole() {
            let missing = self.total - (self.head.len() + self.tail.len()) as u64;
            bytes.extend(format!("\n[gbench-ci: {missing} bytes not kept]\n").bytes());
        }
        bytes.extend(&self.tail);
        bytes
    }

    pub fn newest(&self, length: usize) -> String {
        let tail: Vec<u8> = if self.tail.is_empty() {
            self.head[self.head.len().saturating_sub(length)..].to_vec()
        } else {
            self.tail.iter().skip(self.tail.len().saturating_sub(length)).copied().collect()
        };
        String::from_utf8_lossy(&tail).into_owned()
    }

    /// The end as text, at most `length` bytes; invalid UTF-8 is replaced.
    pub fn end(&self, length: usize) -> String {
        let bytes = self.bytes();
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(length)..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_survive_and_the_middle_is_counted() {
        let mut capture = Capture::new(10);
        for chunk in [&b"abc"[..], b"defgh", &[b'.'; 1000], b"vwxyz"] {
            capture.push(chunk);
        }
        assert_eq!(capture.total(), 1013);
        assert!(!capture.is_whole());
        assert_eq!(capture.bytes(), b"abcde\n[gbench-ci: 1003 bytes not kept]\nvwxyz");
    }

    #[test]
    fn short_output_is_kept_whole() {
        let mut capture = Capture::new(10);
        capture.push(b"0123456");
        capture.push(b"789");
        assert!(capture.is_whole());
        assert_eq!(capture.bytes(), b"0123456789");
        assert_eq!(capture.end(3), "789");
    }
}
