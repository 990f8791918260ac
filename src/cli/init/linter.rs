//! The labels of our own runners in `.github/actionlint.yaml`: without them actionlint takes each for a mistake.

/// The file, from the repository's root.
pub const PATH: &str = ".github/actionlint.yaml";

/// A new file.
pub fn fresh(labels: &[String]) -> String {
    format!(
        "# Labels of our own runners, so that actionlint knows them.\nself-hosted-runner:\n  labels:\n{}",
        items(labels, "    ", "\n")
    )
}

/// Those of `labels` that the file does not list.
pub fn missing(text: &str, labels: &[String]) -> Vec<String> {
    let listed = list(text).map(|list| list.labels).unwrap_or_default();
    labels.iter().filter(|label| !listed.iter().any(|it| it.eq_ignore_ascii_case(label))).cloned().collect()
}

/// The file with the labels in its list; all else stays. `None`: there is no list of a form that is known here.
pub fn merged(text: &str, labels: &[String]) -> Option<String> {
    let new = missing(text, labels);
    let list = list(text)?;
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (before, after) = text.split_at(list.end);
    let gap = if before.ends_with('\n') { "" } else { end };
    Some(format!("{before}{gap}{}{after}", items(&new, &list.indent, end)))
}

fn items(labels: &[String], indent: &str, end: &str) -> String {
    labels.iter().map(|label| format!("{indent}- \"{label}\"{end}")).collect()
}

/// The list of labels: what it holds, how its items stand, and the byte behind its last one.
struct List {
    labels: Vec<String>,
    indent: String,
    end: usize,
}

/// Reads the one form that is usual: an item a line. Others are left to their owner.
fn list(text: &str) -> Option<List> {
    let mut found: Option<List> = None;
    let (mut section, mut at) = (false, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let plain = line.split(" #").next().unwrap_or(line).trim_end();
        let depth = plain.len() - plain.trim_start().len();
        if plain.trim().is_empty() || plain.trim_start().starts_with('#') {
            continue;
        }
        match &mut found {
            None if depth == 0 => section = plain == "self-hosted-runner:",
            None if section && plain.trim() == "labels:" => {
                found = Some(List { labels: Vec::new(), indent: " ".repeat(depth + 2), end: at });
            }
            None => {}
            Some(list) => {
                let Some(item) = plain.trim_start().strip_prefix("- ") else { break };
                list.indent = plain[..depth].to_owned();
                list.labels.push(item.trim().trim_matches(['"', '\'']).to_owned());
                list.end = at;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn what_is_missing_is_added_and_the_rest_stays() {
        let text = "# ours\nself-hosted-runner:\n  labels:\n  - gpu # the big one\n\n  - 'A100'\nconfig-variables: null\n";
        assert_eq!(missing(text, &labels("a100 h100 gpu")), ["h100"]);
        let merged = merged(text, &labels("a100 h100 gpu")).unwrap();
        assert_eq!(merged, text.replace("  - 'A100'\n", "  - 'A100'\n  - \"h100\"\n"));
        assert_eq!(super::merged(&merged, &labels("h100")).as_deref(), Some(&merged[..]));
    }

    #[test]
    fn its_own_file_grows_also_without_a_last_line_break() {
        let text = fresh(&labels("gpu"));
        let grown = merged(text.trim_end(), &labels("gpu h100")).unwrap();
        assert_eq!(grown, fresh(&labels("gpu h100")));
    }

    #[test]
    fn a_file_of_another_form_is_left_to_its_owner() {
        for text in [
            "",
            "config-variables: null\n",
            "self-hosted-runner:\n  labels: [gpu]\n",
            "a:\n  labels:\n    - b\n",
        ] {
            assert_eq!(merged(text, &labels("gpu")), None, "{text}");
        }
    }
}
