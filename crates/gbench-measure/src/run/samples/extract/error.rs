//! Why a declared number cannot be taken from an output.

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum ExtractError {
    #[error("stdout has {0} bytes, more than were kept")]
    NotKept(u64),
    #[error("the file {file} cannot be used: {cause}")]
    File { file: String, cause: String },
    #[error("nothing in stdout matches {0}")]
    Nothing(String),
    #[error("{rule} found `{text}`, which is not a finite number")]
    NotANumber { rule: String, text: String },
    #[error("stdout cannot be read for {rule}: {cause}")]
    Unreadable { rule: String, cause: String },
    #[error("{rule} is not a single metric: {what}")]
    Mixed { rule: String, what: String, next: String },
    #[error("{rule} matches a failed entry: {why}")]
    Failed { rule: String, why: String },
}

impl ExtractError {
    pub(crate) fn unreadable(rule: &str, cause: impl ToString) -> Self {
        Self::Unreadable { rule: rule.to_owned(), cause: cause.to_string() }
    }

    /// The next step; `None` if only the output can tell.
    pub(crate) fn next(&self) -> Option<String> {
        match self {
            Self::NotKept(_) => Some("raise `log_limit`, or print less".into()),
            Self::File { .. } => {
                Some("let the program write it in every run, at the path in `file` of `extract`".into())
            }
            Self::Mixed { next, .. } => Some(next.clone()),
            Self::Failed { .. } => {
                Some("make the tool exit with the command's error, and fix the command".into())
            }
            Self::Nothing(_) | Self::NotANumber { .. } | Self::Unreadable { .. } => None,
        }
    }
}
