//! Base64, as blobs come and go (RFC 4648, section 4).

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn encoded(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    out
}

/// `None` if it is none; line breaks are passed over.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let whole = digits.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    if !digits.len().is_multiple_of(4) || digits.len() - whole > 2 {
        return None;
    }
    let mut out = Vec::new();
    for group in digits[..whole].chunks(4) {
        let mut word = 0_u32;
        for digit in group {
            word = word << 6 | DIGITS.iter().position(|known| known == digit)? as u32;
        }
        word <<= 6 * (4 - group.len());
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

#[test]
fn base64_there_and_back() {
    for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(encoded(plain.as_bytes()), coded);
        assert_eq!(decoded(coded).unwrap(), plain.as_bytes());
    }
    assert_eq!(decoded("Zm9v\nYmFy\n").unwrap(), b"foobar");
    assert!(decoded("Zm9").is_none() && decoded("Z===").is_none() && decoded("Zm9%").is_none());
}
