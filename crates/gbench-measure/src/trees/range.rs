//! The typed range of two sides: `main..topic`, `main...topic`, `main..`, `main`, or nothing.

/// The two sides that a user asked to compare; not resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub base: Base,
    /// `None`: the working tree in its current state.
    pub head: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    Exactly(String),
    Common(String),
    Default,
}

impl Range {
    /// | typed | base | head |
    /// |---|---|---|
    /// | `A..B` | A | B |
    /// | `A...B` | merge base of A and B | B |
    /// | `A..` | A | the working tree |
    /// | `A`, `A...` | merge base of A and `HEAD` | the working tree |
    /// | nothing | merge base of the default branch and `HEAD` | the working tree |
    ///
    /// As in git, nothing before the dots is `HEAD`. Any text is a range; [`resolve`](super::revision::resolve()) finds out
    /// whether its names are there.
    pub fn parse(text: Option<&str>) -> Self {
        let Some(text) = text else { return Self { base: Base::Default, head: None } };
        let name = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
        let head = |head: &str| Some(head.to_owned()).filter(|head| !head.is_empty());
        // Three dots contain two, so they are searched first.
        if let Some((base, rest)) = text.split_once("...") {
            Self { base: Base::Common(name(base)), head: head(rest) }
        } else if let Some((base, rest)) = text.split_once("..") {
            Self { base: Base::Exactly(name(base)), head: head(rest) }
        } else {
            Self { base: Base::Common(text.to_owned()), head: None }
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        let base = match &self.base {
            Base::Exactly(name) | Base::Common(name) => Some(name.as_str()),
            Base::Default => None,
        };
        base.into_iter().chain(self.head.as_deref())
    }
}
