//! Checksums that detect whether a file has changed.

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hexadecimal, as printed by `sha256sum`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_text_has_its_known_sum() {
        // sha256sum < /dev/null
        let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(b""), sum);
    }
}
