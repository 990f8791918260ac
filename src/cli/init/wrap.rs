//! Words in lines that a terminal of 80 columns holds.

const COLUMNS: usize = 80;

/// `words` behind `lead`, further lines below the first word; what stands between backticks is not broken. Ends in a line
/// break.
pub fn paragraph(lead: &str, words: &str) -> String {
    let mut text = String::new();
    let mut line = lead.to_owned();
    let indent = " ".repeat(lead.chars().count());
    for piece in pieces(words) {
        let is_first = line.trim_end().len() == lead.trim_end().len();
        let width = line.chars().count() + piece.chars().count() + usize::from(!is_first);
        if !is_first && width > COLUMNS {
            text += &format!("{line}\n");
            line = indent.clone() + &piece;
        } else {
            line += if is_first { "" } else { " " };
            line += &piece;
        }
    }
    text + &line + "\n"
}

/// The words, with quoted code as one.
fn pieces(words: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match pieces.last_mut() {
            Some(open) if open.matches('`').count() % 2 == 1 => *open += &format!(" {word}"),
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_full_and_code_stays_whole() {
        let words = "word ".repeat(30) + "`a command of several words` end";
        let text = paragraph("  1. ", &words);
        assert!(text.starts_with("  1. word") && text.lines().skip(1).all(|line| line.starts_with("     ")));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(
            text.lines().next().unwrap().len() > 74 && text.contains("`a command of several words`"),
            "{text}"
        );
        assert_eq!(paragraph("", "one"), "one\n");
    }
}
