//! Where GitHub is, which repository is meant, and by whose leave: small checked types, so that nothing from an event
//! file or a command line reaches a request's path unchecked.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use gbench_model::Host;
use gbench_model::text::short_commit;

/// `OWNER/NAME`, as GitHub spells repositories. Case does not matter to GitHub, nor to `==`.
#[derive(Clone, Debug)]
pub struct Slug {
    owner: String,
    name: String,
}

impl Slug {
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// A project of GitLab, whose groups may contain groups: `a/b/kernels`. The owner is all but the last part.
    pub fn nested(text: &str) -> Result<Self, String> {
        let (owner, name) = text.rsplit_once('/').unwrap_or_default();
        let plain = owner.split('/').all(|group| format!("{group}/{name}").parse::<Self>().is_ok());
        if plain {
            Ok(Self { owner: owner.into(), name: name.into() })
        } else {
            Err(format!("`{}` is not a project of the form GROUP/NAME", text.escape_debug()))
        }
    }

    /// The beginning of every route of the repository: `/repos/OWNER/NAME`.
    pub fn route(&self) -> String {
        format!("/repos/{}/{}", self.owner, self.name)
    }
}

impl PartialEq for Slug {
    fn eq(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl Eq for Slug {}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl FromStr for Slug {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !part.is_empty() && part.len() <= 100 && part != "." && part != ".." && part.chars().all(plain)
        };
        match text.split_once('/') {
            Some((owner, name)) if part(owner) && part(name) => {
                Ok(Self { owner: owner.into(), name: name.into() })
            }
            _ => Err(format!("`{}` is not a repository of the form OWNER/NAME", text.escape_debug())),
        }
    }
}

/// A text as one piece of a route or a query: whatever it holds, it ends neither.
pub(crate) fn encoded(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    // RFC 3986, section 2.3: these need no encoding anywhere.
    const SET: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, SET).to_string()
}

/// A full commit id: 40 hexadecimal digits, or 64 in a SHA-256 repository, in small letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr)]
pub struct Sha(String);

impl Sha {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ten digits that reports show.
    pub fn short(&self) -> &str {
        short_commit(&self.0)
    }
}

impl From<git2::Oid> for Sha {
    fn from(id: git2::Oid) -> Self {
        Self(id.to_string())
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Sha {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let whole = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        // Forty zeros are what GitHub sends for "there was none".
        if whole && !text.bytes().all(|b| b == b'0') {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(format!("`{}` is not a full commit id", text.escape_debug()))
        }
    }
}

/// A token of GitHub. It prints as `***` in every form.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Errors: an empty text, or one that a header cannot carry.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(Self(text.into()))
        } else {
            Err("the token is empty or has characters that no token has".into())
        }
    }

    /// For the transport alone.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A server: github.com, or one of a company, whose API is below a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub host: Host,
    /// `https://api.github.com`, `https://github.example.com/api/v3`; no slash at the end.
    pub api: String,
    /// `https://github.com`: where its pages are.
    pub server: String,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { host: Host::GitHub, api: "https://api.github.com".into(), server: "https://github.com".into() }
    }
}

impl Endpoint {
    /// From what the runner says in `GITHUB_API_URL` and `GITHUB_SERVER_URL`. Errors: what is not an http address.
    pub fn new(api: Option<&str>, server: Option<&str>) -> Result<Self, String> {
        let usual = Self::default();
        let checked = |text: Option<&str>, usual: String| match text.map(|text| text.trim_end_matches('/')) {
            None | Some("") => Ok(usual),
            Some(text) if text.starts_with("https://") || text.starts_with("http://") => Ok(text.to_owned()),
            Some(text) => Err(format!("`{}` is not an http address", text.escape_debug())),
        };
        Ok(Self { host: usual.host, api: checked(api, usual.api)?, server: checked(server, usual.server)? })
    }

    pub fn of(self, host: Host) -> Self {
        Self { host, ..self }
    }
}
