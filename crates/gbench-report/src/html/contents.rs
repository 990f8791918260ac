//! The inputs and outputs of the pages.

use super::addresses::slug;
use gbench_compare::VerdictDocument;
use gbench_compare::trend::TrendsDocument;
use gbench_model::CaseId;

/// The contents of a site.
pub struct SiteInput<'d> {
    pub trends: &'d TrendsDocument,
    /// The newest first.
    pub comparisons: &'d [ComparisonPage],
    /// Heading of the first page; the suite's name.
    pub title: &'d str,
    /// A sentence on every page, or empty.
    pub note: &'d str,
    /// `https://github.com/acme/kernels`, for links to commits, or empty.
    pub repository: &'d str,
}

pub struct SiteFile {
    /// From the site's folder, with `/`; of letters, digits, `.`, `_` and `-`.
    pub path: String,
    pub text: String,
}

pub struct ComparisonPage {
    /// A unique identifier, such as the comparison's id.
    pub id: String,
    pub document: VerdictDocument,
    /// For rows that rounds decided: case, metric and the image of `explain --svg`.
    pub pictures: Vec<(CaseId, String, String)>,
}

impl ComparisonPage {
    /// From the site's folder.
    pub fn path(&self) -> String {
        format!("comparison/{}.html", slug(&self.id, &self.id))
    }
}
