//! Pages of HTML for people: the history of a suite as a site, and one comparison as a file. Each page stands alone: its style
//! is in it, its pictures are too, and there is no script. Names come from records and are hostile: `maud` escapes all that is
//! written, and a page's policy forbids everything that is not in it.
//!
//! ```text
//! input       what pages are made of
//! page        the frame of every page: policy, style, navigation
//! names       addresses of the pages, and how they name things
//! axis        places and ticks of a chart
//! chart       one series over its runs, or two side by side
//! events      what happened to a series, in words
//! overview    the first page
//! case        a page for a case
//! comparison  a page for a comparison
//! ```

mod axis;
mod case;
mod chart;
mod comparison;
mod events;
mod input;
mod names;
mod overview;
mod page;

pub use comparison::comparison_file;
pub use input::{ComparisonPage, SiteFile, SiteInput};
pub use names::case_page;

use page::SiteFrame;

/// Every page: the overview, one for each case, one for each comparison.
pub fn site(input: &SiteInput<'_>) -> Vec<SiteFile> {
    let frame = SiteFrame::new(input.title, input.note, input.repository, true);
    let mut files = vec![SiteFile { path: "index.html".into(), text: overview::page(input, &frame) }];
    files.extend(case::pages(input, &frame));
    files.extend(input.comparisons.iter().map(|comparison| SiteFile {
        path: comparison.path(),
        text: comparison::page(comparison, input.trends, &frame),
    }));
    files
}
