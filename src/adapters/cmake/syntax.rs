//! The syntax of CMake: commands, their words, comments.

pub(super) struct CMakeCommand {
    /// In small letters.
    pub name: String,
    pub words: Vec<String>,
}

/// The commands of a file, without comments.
pub(super) fn commands(text: &str) -> Vec<CMakeCommand> {
    let mut commands = Vec::new();
    let mut rest = text;
    let mut name = String::new();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '#' => rest = after_comment(rest),
            '(' => {
                let (words, after) = arguments(rest);
                rest = after;
                commands.push(CMakeCommand { name: name.trim().to_ascii_lowercase(), words });
                name.clear();
            }
            c => name.push(c),
        }
    }
    commands
}

fn after_comment(rest: &str) -> &str {
    match rest.strip_prefix("[[") {
        Some(block) => block.split_once("]]").map_or("", |(_, after)| after),
        None => rest.split_once('\n').map_or("", |(_, after)| after),
    }
}

/// The words up to the closing bracket, and what follows it.
fn arguments(text: &str) -> (Vec<String>, &str) {
    let (mut words, mut word, mut depth) = (Vec::new(), String::new(), 0_usize);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '#' if word.is_empty() => rest = after_comment(rest),
            '"' => {
                let end = rest.find('"').unwrap_or(rest.len());
                word.push_str(&rest[..end]);
                rest = rest.get(end + 1..).unwrap_or_default();
                words.push(std::mem::take(&mut word));
            }
            ')' if depth == 0 => break,
            '(' | ')' => depth = if c == '(' { depth + 1 } else { depth - 1 },
            c if c.is_whitespace() || c == ';' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    (words, rest)
}
