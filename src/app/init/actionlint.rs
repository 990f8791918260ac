//! The labels of the project's own runners in `.github/actionlint.yaml`: without them actionlint reports each as a mistake.

/// The file, from the repository's root.
pub(super) const PATH: &str = ".github/actionlint.yaml";

/// A new file.
pub(super) fn file(labels: &[String]) -> String {
    let items: String = labels.iter().map(|label| format!("    - \"{label}\"\n")).collect();
    format!(
        "# Labels of our own runners, so that actionlint knows them.\nself-hosted-runner:\n  labels:\n{items}"
    )
}

/// The labels that the text of a file does not mention. The file belongs to its owner, who may write YAML in any form, so
/// that words are compared and nothing is changed.
pub(super) fn missing(text: &str, labels: &[String]) -> Vec<String> {
    let in_label = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let words: Vec<&str> = text.split(|c| !in_label(c)).collect();
    labels.iter().filter(|label| !words.iter().any(|it| it.eq_ignore_ascii_case(label))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_listed_in_whatever_form_of_yaml() {
        let labels = ["a100", "h100", "gpu"].map(str::to_owned);
        for text in [
            "self-hosted-runner:\n  labels:\n  - gpu # the big one\n\n  - 'A100'\nconfig-variables: null\n",
            "self-hosted-runner: { labels: [gpu, \"a100\"] }",
        ] {
            assert_eq!(missing(text, &labels), ["h100"], "{text}");
        }
        assert_eq!(missing(&file(&labels), &labels), [""; 0]);
        assert_eq!(missing("labels: [gpu2, my-gpu]", &labels[2..]), ["gpu"]);
    }
}
