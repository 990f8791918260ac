//! A page of a terminal: headings, folded lines and tables within its width. Only this file uses comfy-table. All text
//! passes through here, where it becomes visible, and ASCII on request.

use std::collections::{HashMap, HashSet};

use comfy_table::{ContentArrangement, Table, presets};

use super::emphasis::Emphasis;
use super::escape::{ascii, visible};
use super::width::{COLUMNS, cut_middle, fold, fold_command, fold_name, width};

/// Capabilities of the reader's terminal. The caller determines them; a report never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns, at least [`Style::MIN_WIDTH`].
    pub width: u16,
    pub color: bool,
    /// `false`: ASCII only.
    pub unicode: bool,
}

impl Style {
    pub const MIN_WIDTH: u16 = 60;
    /// For files and pipes: 80 columns, no colour.
    pub const PLAIN: Style = Style { width: 80, color: false, unicode: true };

    fn columns(self) -> usize {
        usize::from(self.width.max(Self::MIN_WIDTH))
    }

    fn text(self, text: &str) -> String {
        if self.unicode { visible(text).into_owned() } else { ascii(text) }
    }
}

pub(crate) struct GridRow {
    pub cells: Vec<String>,
    /// Labelled lines below the row, over the whole width: `why`, `next`.
    pub notes: Vec<(&'static str, String)>,
}

impl<T: Into<Vec<String>>> From<T> for GridRow {
    fn from(cells: T) -> Self {
        Self { cells: cells.into(), notes: Vec::new() }
    }
}

const INDENT: usize = 2;
const GAP: usize = 2;
/// Most lines of a name; beyond that its middle is cut, unless it would then equal another one.
const MAX_NAME_LINES: usize = 3;
const MIN_NAME_WIDTH: usize = 16;

pub(crate) struct TerminalLayout {
    text: String,
    style: Style,
}

impl TerminalLayout {
    pub(crate) fn new(style: Style) -> Self {
        Self { text: String::new(), style }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn insert(&mut self, page: &str) {
        self.text += page;
    }

    fn push(&mut self, line: &str) {
        self.text += line;
        self.text += "\n";
    }

    pub(crate) fn blank(&mut self) {
        self.push("");
    }

    fn emphasized(&self, text: &str, emphasis: Emphasis) -> String {
        if self.style.color {
            format!("\x1b[{}m{text}\x1b[0m", emphasis.look().color)
        } else {
            text.to_owned()
        }
    }

    /// A folded paragraph with a coloured first word: `REGRESSED  sentence`.
    pub(crate) fn headline(&mut self, word: &str, sentence: &str, emphasis: Emphasis) {
        let head =
            if self.style.unicode { format!("{} {word}", emphasis.look().mark) } else { word.to_owned() };
        let text = self.style.text(&format!("{head}: {sentence}"));
        let text = fold(&text, self.style.columns()).join("\n");
        match text.strip_prefix(&head) {
            Some(rest) => self.push(&(self.emphasized(&head, emphasis) + rest)),
            None => self.push(&text),
        }
    }

    pub(crate) fn heading(&mut self, text: &str, emphasis: Emphasis) {
        self.blank();
        for line in fold(&self.style.text(text), self.style.columns()) {
            self.push(&self.emphasized(&line, emphasis));
        }
    }

    /// A heading and an item for each text; nothing for an empty list.
    pub(crate) fn list(
        &mut self,
        heading: &str,
        emphasis: Emphasis,
        items: impl IntoIterator<Item = impl AsRef<str>>,
    ) {
        for (index, item) in items.into_iter().enumerate() {
            if index == 0 {
                self.heading(heading, emphasis);
            }
            self.note("-", item.as_ref());
        }
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.labelled("", text, 0);
    }

    pub(crate) fn facts(&mut self, facts: &[(&'static str, String)]) {
        let widest = facts.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
        facts.iter().for_each(|(label, text)| self.hanging(label, text, INDENT, widest + GAP));
    }

    /// An indented paragraph with a label, a short word, before its first line.
    pub(crate) fn note(&mut self, label: &str, text: &str) {
        self.labelled(label, text, INDENT);
    }

    pub(crate) fn inner_note(&mut self, label: &str, text: &str) {
        self.labelled(label, text, 2 * INDENT);
    }

    fn labelled(&mut self, label: &str, text: &str, indent: usize) {
        // `why`, `next` and `worst` are aligned; a list's dash is close to its text.
        let hang = match width(label) {
            0 => 0,
            1 => 2,
            width => width.max(5) + 1,
        };
        self.hanging(label, text, indent, hang);
    }

    fn hanging(&mut self, label: &str, text: &str, indent: usize, hang: usize) {
        let lines = fold(&self.style.text(text), self.style.columns() - indent - hang);
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            self.push(format!("{:indent$}{label:hang$}{line}", "").trim_end());
        }
    }

    /// A line of a picture, unchanged: its author ensures the width.
    pub(crate) fn verbatim(&mut self, line: &str) {
        self.push(&self.style.text(line));
    }

    pub(crate) fn rule(&mut self) {
        let sign = if self.style.unicode { "─" } else { "-" };
        self.push(&sign.repeat(self.style.columns()));
        self.blank();
    }

    /// A shell command below its heading, folded so that it can still be pasted.
    pub(crate) fn command(&mut self, heading: &str, command: &str) {
        self.heading(heading, Emphasis::Plain);
        for line in fold_command(&self.style.text(command), self.style.columns() - INDENT) {
            self.push(&format!("{:INDENT$}{line}", ""));
        }
    }

    pub(crate) fn section(
        &mut self,
        (heading, emphasis): (&str, Emphasis),
        header: &[&str],
        rows: impl IntoIterator<Item = impl Into<GridRow>>,
    ) {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_some() {
            self.heading(heading, emphasis);
            self.grid(header, rows);
        }
    }

    /// A table whose first column is a name and takes the remaining space.
    pub(crate) fn grid(&mut self, header: &[&str], rows: impl IntoIterator<Item = impl Into<GridRow>>) {
        let style = self.style;
        let rows: Vec<GridRow> = rows.into_iter().map(Into::into).collect();
        let header: Vec<String> = header.iter().map(|cell| style.text(cell)).collect();
        // A cell may contain our own line breaks; each line is escaped separately.
        let lines_of = |cell: &String| cell.split('\n').map(|line| style.text(line)).collect();
        let cells: Vec<Vec<Vec<String>>> =
            rows.iter().map(|row| row.cells.iter().map(lines_of).collect()).collect();
        let widths = column_widths(&header, &cells, style.columns() - INDENT);
        let ellipsis = if style.unicode { "…" } else { "..." };
        let alike = look_alike(&cells, widths[0], ellipsis);

        let header = header.iter().zip(&widths).map(|(cell, width)| fold(cell, *width)).collect();
        self.row(header, &widths);
        for (row, cells) in rows.iter().zip(&cells) {
            let fold_cell = |(column, lines): (usize, &Vec<String>)| match column {
                0 if alike.contains(lines) => fold_names(lines, widths[0], usize::MAX, ellipsis),
                0 => fold_names(lines, widths[0], MAX_NAME_LINES, ellipsis),
                _ => lines.iter().flat_map(|line| fold(line, widths[column])).collect(),
            };
            self.row(cells.iter().enumerate().map(fold_cell).collect(), &widths);
            row.notes.iter().for_each(|(label, text)| self.inner_note(label, text));
        }
    }

    fn row(&mut self, cells: Vec<Vec<String>>, widths: &[usize]) {
        for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = " ".repeat(INDENT);
            for (cell, column) in cells.iter().zip(widths) {
                let text = cell.get(at).map_or("", String::as_str);
                line += &format!("{text}{:1$}", "", (column + GAP).saturating_sub(width(text)));
            }
            self.push(line.trim_end());
        }
    }
}

/// Columns without a frame in 80 columns of a terminal; long cells wrap within their column, and a cell's line breaks
/// stay.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(COLUMNS as u16);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    let shown = |cell: &String| cell.split('\n').map(visible).collect::<Vec<_>>().join("\n");
    table.add_rows(rows.into_iter().map(|row| row.iter().map(shown).collect::<Vec<_>>()));
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Every column is as wide as its content, and the first takes the rest of `total`. If that is too little, the widest of
/// the others shrink.
fn column_widths(header: &[String], rows: &[Vec<Vec<String>>], total: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = header.iter().map(|cell| width(cell)).collect();
    for row in rows {
        for (column, lines) in row.iter().enumerate() {
            widths[column] = lines.iter().map(|line| width(line)).max().unwrap_or(0).max(widths[column]);
        }
    }
    let gaps = GAP * (widths.len() - 1);
    let name = widths[0].min(MIN_NAME_WIDTH);
    while let others = widths[1..].iter().sum::<usize>()
        && others + name + gaps > total
        && let Some(widest) = widths[1..].iter_mut().max()
        && *widest > 4
    {
        *widest -= 1;
    }
    let others: usize = widths[1..].iter().sum();
    widths[0] = widths[0].min(total.saturating_sub(others + gaps)).max(name);
    widths
}

/// The names that would equal another one with a cut middle: these are shown in full.
fn look_alike<'c>(rows: &'c [Vec<Vec<String>>], limit: usize, ellipsis: &str) -> HashSet<&'c Vec<String>> {
    let mut shown: HashMap<Vec<String>, HashSet<&Vec<String>>> = HashMap::new();
    for name in rows.iter().filter_map(|row| row.first()) {
        shown.entry(fold_names(name, limit, MAX_NAME_LINES, ellipsis)).or_default().insert(name);
    }
    shown.into_values().filter(|names| names.len() > 1).flatten().collect()
}

/// The lines of a name, each in at most `most` lines of `limit` columns.
fn fold_names(lines: &[String], limit: usize, most: usize, ellipsis: &str) -> Vec<String> {
    let mut folded = Vec::new();
    for line in lines {
        let mut parts = fold_name(line, limit);
        if parts.len() > most {
            // Folding after separators leaves lines short; cut until it fits.
            let mut room = most * limit;
            while parts.len() > most {
                parts = fold_name(&cut_middle(line, room, ellipsis), limit);
                room -= 1;
            }
        }
        folded.append(&mut parts);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_width_whatever_stands_in_it() {
        let rows = [["kernels/gemm", &"a long description ".repeat(20)], ["b", &"x".repeat(200)]];
        let text = table(&["benchmark", "description"], rows.map(|row| row.map(str::to_owned).to_vec()));
        assert!(text.lines().all(|line| width(line) <= COLUMNS), "{text}");
        assert!(text.starts_with("benchmark") && text.lines().count() > 5);
        assert!(!table(&[], [vec!["\u{1b}[31mred".to_owned()]]).contains('\u{1b}'));
    }

    #[test]
    fn a_header_of_several_lines_takes_none_of_its_rows() {
        let header = [
            "case",
            "SM clock (least)",
            "temperature (most)",
            "GPU busy (most)",
            "power (most)",
            "RAM (most)",
        ];
        let row = |name: &str| {
            let cells = ["1980 MHz (1500)", "61 °C (64)", "97 % (100)", "637 W (651)", "40 % (41)"];
            let cells = std::iter::once(name).chain(cells).map(str::to_owned).collect();
            GridRow { cells, notes: vec![("note", format!("behind {name}"))] }
        };
        let mut page = TerminalLayout::new(Style { width: 60, ..Style::PLAIN });
        page.grid(&header, [row("toy/nap"), row("toy/sum")]);
        let text = page.into_text();
        let words: Vec<&str> = text.split_whitespace().collect();
        for (word, times) in [("(41)", 2), ("(1500)", 2), ("(64)", 2), ("(least)", 1)] {
            assert_eq!(words.iter().filter(|found| **found == word).count(), times, "{word} in\n{text}");
        }
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in\n{text}"));
        assert!(
            place("toy/nap") < place("behind toy/nap") && place("behind toy/nap") < place("toy/sum"),
            "{text}"
        );
    }
}
