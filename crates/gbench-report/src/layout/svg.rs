//! Self-contained images: no script, no font, no other file; light or dark as the reader prefers. Every text passes
//! through `escape::xml`.

use super::escape::xml;

const STYLE: &str = "\
svg{--paper:#fff;--ink:#1f2328;--soft:#59636e;--grid:#d1d9e0;--band:#ddf4e4;--shade:#eff2f5;--dot:#0969da;--range:#54aeff;\
--worse:#cf222e;--better:#1a7f37;--open:#9a6700}\
@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#f0f6fc;--soft:#9198a1;--grid:#3d444d;--band:#12261e;\
--shade:#1b212a;--dot:#58a6ff;--range:#388bfd;--worse:#f85149;--better:#3fb950;--open:#d29922}}\
text{font:12px system-ui,'Noto Sans','DejaVu Sans',sans-serif;fill:var(--ink)}\
.name{font-size:16px;font-weight:600}.soft{fill:var(--soft)}.head{font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}\
.paper{fill:var(--paper)}.grid{stroke:var(--grid);fill:none}";

/// `M1.0 2.0L3.0 4.0`, with `Z` as `end` if it is closed; empty without a position.
pub(crate) fn path(places: impl Iterator<Item = (f64, f64)>, end: &str) -> String {
    let places: Vec<String> = places.map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    if places.is_empty() { String::new() } else { format!("M{}{end}", places.join("L")) }
}

pub(crate) struct Svg(String);

impl Svg {
    /// An image with a width and a height in pixels. `style`: rules in addition to those of all images.
    pub(crate) fn new((width, height): (f64, f64), title: &str, style: &str) -> Self {
        let mut svg = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">\n<title>{}</title>\n<style>{STYLE}{style}</style>\n",
            xml(title)
        ));
        svg.rect("paper", (0.0, 0.0), (width, height));
        svg
    }

    pub(crate) fn into_text(self) -> String {
        self.0 + "</svg>\n"
    }

    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), to: (f64, f64)) {
        let (width, height) = (to.0 - x, to.1 - y);
        self.0 += &format!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n"
        );
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(class, &[from, to], "");
    }

    /// `end`: `Z` closes the path.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)], end: &str) {
        let path = path(points.iter().copied(), end);
        self.0 += &format!("<path class=\"{class}\" d=\"{path}\"/>\n");
    }

    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.0 += &format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>\n");
    }

    pub(crate) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.0 += &format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", xml(text));
    }
}
