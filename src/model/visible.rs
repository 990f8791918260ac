//! Tells which characters are invisible. Names and messages come from elsewhere, and what a reader does not see must not change how
//! the rest of a line reads.

/// Whether a character has no width, fills a line unseen or turns the reading order around, and is no control character.
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}')
}
