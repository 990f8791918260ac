//! Words around figures: counted nouns, capital letters, short commits.

/// `1 row`, `2 rows`, `2 processes`.
pub fn plural(count: usize, noun: &str) -> String {
    let end = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{end}")
}

/// With a capital first letter, unless the first word is a name such as `kernels/gemm`.
pub fn capitalized(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or("");
    match word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty() {
        true => text[..1].to_ascii_uppercase() + &text[1..],
        false => text.to_owned(),
    }
}

pub fn short_commit(commit: &str) -> String {
    commit.chars().take(10).collect()
}
