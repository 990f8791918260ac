//! What pages are made of, and what they become.

use super::addresses::slug;
use gbench_compare::VerdictDocument;
use gbench_compare::trend::TrendsDocument;
use gbench_model::CaseId;

/// What a site is made of.
pub struct SiteInput<'d> {
    pub trends: &'d TrendsDocument,
    /// The newest first.
    pub comparisons: &'d [ComparisonPage],
    /// Heading of the first page; the suite's name.
    pub title: &'d str,
    /// A sentence that stands on every page; empty for none.
    pub note: &'d str,
    /// `https://github.com/acme/kernels`: commits are linked there; empty for none.
    pub repository: &'d str,
}

/// One file of a site.
pub struct SiteFile {
    /// From the site's folder, with `/`; of letters, digits, `.`, `_` and `-`.
    pub path: String,
    pub text: String,
}

/// A comparison, and the pictures of its rows.
pub struct ComparisonPage {
    /// The id of the comparison, or what else tells it from others.
    pub id: String,
    pub document: VerdictDocument,
    /// Of rows that rounds decided: case, metric and the image that `explain --svg` gives.
    pub pictures: Vec<(CaseId, String, String)>,
}

impl ComparisonPage {
    /// From the site's folder.
    pub fn path(&self) -> String {
        format!("comparison/{}.html", slug(&self.id, &self.id))
    }
}
