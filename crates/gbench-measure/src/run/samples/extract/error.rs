//! Why a declared number cannot be taken from an output.

/// Why a declared number is not there.
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
    #[error("{rule} is no one metric: {what}")]
    Mixed { rule: String, what: String, next: String },
    #[error("{rule} found what failed: {why}")]
    Failed { rule: String, why: String },
}

impl ExtractError {
    pub(crate) fn unreadable(rule: &str, cause: impl ToString) -> Self {
        Self::Unreadable { rule: rule.to_owned(), cause: cause.to_string() }
    }

    /// The next step for the reader; absent where the output has to be looked at.
    pub(crate) fn next(&self) -> Option<String> {
        match self {
            Self::NotKept(_) => Some("raise `log_limit`, or print less".into()),
            Self::File { .. } => Some(
                "let the program write it anew in every run, at the path that `file` in `extract` says"
                    .into(),
            ),
            Self::Mixed { next, .. } => Some(next.clone()),
            Self::Failed { .. } => {
                Some("let the tool fail with the command, and mend what it measures".into())
            }
            Self::Nothing(_) | Self::NotANumber { .. } | Self::Unreadable { .. } => None,
        }
    }
}
