//! The frame of every page: its content policy, style and navigation.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::addresses::short;
use crate::layout::emphasis::Emphasis;
use crate::layout::escape::visible;

const STYLE: &str = include_str!("style.css");

/// Shared by all pages of a site.
pub(super) struct SiteFrame {
    title: String,
    note: String,
    repository: String,
    /// Forbids loading: no script, no other file, no form, and only our styles.
    policy: String,
    /// There is an overview to link to.
    has_overview: bool,
}

impl SiteFrame {
    /// `repository`: the URL for links to commits; ignored unless it is a plain URL.
    pub(super) fn new(title: &str, note: &str, repository: &str, has_overview: bool) -> Self {
        let digest = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
        );
        Self {
            title: visible(title).into_owned(),
            note: visible(note).into_owned(),
            repository: address(repository).trim_end_matches('/').to_owned(),
            policy,
            has_overview,
        }
    }

    /// `up`: from the page to the site's folder, `../` or nothing. `name`: of the page; empty for the first one.
    pub(super) fn page(&self, up: &str, name: &str, body: &Markup) -> String {
        let title = if name.is_empty() { self.title.clone() } else { format!("{name} · {}", self.title) };
        let whole = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(self.policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    link rel="icon" href="data:,";
                    title { (title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.top {
                        @if self.has_overview {
                            a.home href={ (up) "index.html" } { (self.title) }
                        } @else {
                            span.home { (self.title) }
                        }
                        span.by { "gbench-ci" }
                    }
                    @if !self.note.is_empty() {
                        p.banner role="note" { (self.note) }
                    }
                    main id="main" { (body) }
                }
            }
        };
        whole.into_string()
    }

    pub(super) fn commit(&self, commit: &str) -> Markup {
        let is_id = commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
        html! {
            @if is_id && !self.repository.is_empty() {
                a href={ (self.repository) "/commit/" (commit) } { code { (short(commit)) } }
            } @else if !commit.is_empty() {
                code { (short(commit)) }
            }
        }
    }

    /// The commits after `good` up to `bad`.
    pub(super) fn commits(&self, good: &str, bad: &str) -> Markup {
        let is_id = |commit: &str| commit.len() >= 7 && commit.chars().all(|c| c.is_ascii_hexdigit());
        let range = format!("{}..{}", short(good), short(bad));
        html! {
            @if is_id(good) && is_id(bad) && !self.repository.is_empty() {
                a href={ (self.repository) "/compare/" (good) "..." (bad) } { code { (range) } }
            } @else {
                code { (range) }
            }
        }
    }
}

/// A URL of harmless characters, because it becomes part of links; otherwise empty.
fn address(text: &str) -> &str {
    let rest = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or_default();
    if rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/".contains(c)) && !rest.is_empty() {
        text
    } else {
        ""
    }
}

/// A part of a page with a heading; empty if `is_shown` is false.
pub(super) fn part(id: &str, heading: &str, is_shown: bool, body: &Markup) -> Markup {
    html! {
        @if is_shown {
            section aria-labelledby=(id) {
                h2 id=(id) { (heading) }
                (body)
            }
        }
    }
}

/// Content that may be wider than the page: it scrolls by itself, also by keyboard.
pub(super) fn scrolled(label: &str, body: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (body) } }
}

/// A table that scrolls by itself. `columns`: those of figures begin with a dot.
pub(super) fn table(label: &str, columns: &[&str], rows: &Markup) -> Markup {
    let table = html! {
        table {
            thead { tr {
                @for column in columns {
                    @match column.strip_prefix('.') {
                        Some(figures) => { th.figure scope="col" { (figures) } }
                        None => { th scope="col" { (column) } }
                    }
                }
            } }
            tbody { (rows) }
        }
    };
    scrolled(label, &table)
}

pub(super) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (label, fact) in facts {
                div { dt { (label) } dd { (fact) } }
            }
        }
    }
}

pub(super) fn tone(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::Bad => "worse",
        Emphasis::Good => "better",
        Emphasis::Doubt => "doubt",
        Emphasis::Plain => "neutral",
    }
}
