//! The text of a Python script: how the script is started, and the names that it imports.

/// Words of a script whose kernels are not those of a library alone.
const OWN_KERNELS: [&str; 8] = [
    "@triton.jit",
    "cpp_extension",
    "load_inline(",
    "triton.testing",
    "RawKernel(",
    "@cuda.jit",
    "@cute.kernel",
    "@helion.kernel",
];

const TEXTS: [&str; 2] = ["\"\"\"", "'''"];

pub(super) struct PythonText<'t>(pub &'t str);

impl<'t> PythonText<'t> {
    pub(super) fn has_own_kernels(&self) -> bool {
        OWN_KERNELS.iter().any(|word| self.0.contains(word))
    }

    /// True if it does something when it is started, and not only when it is imported. `named`: its name is that of a benchmark,
    /// so that any call at the top of it is the work.
    pub(super) fn runs(&self, named: bool) -> bool {
        let is_work = |line: &str| {
            let head = line.split('(').next().unwrap_or_default();
            let is_call = line.contains('(')
                && !head.is_empty()
                && head.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
            ["print(", "with "].iter().any(|start| line.starts_with(start))
                || is_call && head.ends_with(".run")
                || named && (is_call || line.starts_with("for "))
        };
        self.0.contains("__main__") || self.code_lines().any(is_work)
    }

    /// Without those that begin within a text of several lines.
    fn code_lines(&self) -> impl Iterator<Item = &'t str> {
        let mut open: Option<&'static str> = None;
        self.0.lines().filter(move |line| {
            let was_code = open.is_none();
            let mut rest = *line;
            let next = |open: Option<&'static str>, rest: &str| match open {
                Some(quote) => rest.find(quote).map(|at| (at, quote)),
                None => TEXTS.iter().filter_map(|quote| Some((rest.find(quote)?, *quote))).min(),
            };
            while let Some((at, quote)) = next(open, rest) {
                if open.is_none() && rest[..at].contains('#') {
                    break;
                }
                open = if open.is_some() { None } else { Some(quote) };
                rest = &rest[at + quote.len()..];
            }
            was_code
        })
    }

    /// True if it does nothing but complain unless it is given arguments.
    pub(super) fn needs_arguments(&self) -> bool {
        let text = self.0;
        let call = |at: usize| {
            let call = &text[at..];
            let mut depth = 0;
            let end = call.char_indices().find_map(|(at, c)| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                (c == ')' && depth == 0).then_some(at)
            });
            &call[..end.unwrap_or(call.len())]
        };
        let is_needed = |call: &str| {
            let plain: String = call.chars().filter(|c| !c.is_whitespace()).collect();
            let first = plain.split_once('(').map_or("", |(_, rest)| rest).trim_start_matches(['"', '\'']);
            let positional =
                !first.starts_with('-') && !plain.contains("nargs=") && !plain.contains("default=");
            plain.contains("required=True") || positional
        };
        text.match_indices(".add_argument(").any(|(at, _)| is_needed(call(at)))
            || !text.contains("argparse") && text.contains("sys.argv[1]")
    }

    /// True if a launcher such as `torchrun` has to start it.
    pub(super) fn is_of_several_processes(&self) -> bool {
        ["init_process_group(", "LOCAL_RANK", "nvshmem", "rocshmem"].iter().any(|word| self.0.contains(word))
    }

    /// The names of the packages and modules that it imports: `a.b` of `from a.b import c`.
    pub(super) fn imports(&self) -> impl Iterator<Item = &'t str> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let names = self.0.lines().flat_map(|line| {
            let line = line.trim_start();
            let of_one = line.strip_prefix("from ").and_then(|rest| rest.split(' ').next());
            let of_list = line.strip_prefix("import ").into_iter().flat_map(|rest| rest.split(','));
            of_one.into_iter().chain(of_list.filter_map(|name| name.split_whitespace().next()))
        });
        names.filter(move |name| !name.is_empty() && name.chars().all(is_name))
    }

    /// True if it imports by its place in a package, so that only `-m` starts it.
    pub(super) fn is_of_package(&self) -> bool {
        self.imports().any(|name| name.starts_with('.'))
    }

    /// The file in which `perf_report` leaves its only plot, relative to the folder in which the script is started.
    pub(super) fn plot_file(&self) -> Option<String> {
        let text = self.0;
        let literal = |key: &str| -> Option<Option<&'t str>> {
            let found: Vec<Option<&str>> = text
                .lines()
                .map(|line| line.split('#').next().unwrap_or_default())
                .filter_map(|line| line.split_once(key))
                .filter_map(|(before, rest)| {
                    let is_whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
                    is_whole.then(|| rest.trim_start().strip_prefix('=')).flatten()
                })
                .map(|value| {
                    let value = value.trim_start();
                    let quote = value.chars().next().filter(|c| ['"', '\''].contains(c))?;
                    value[1..].split_once(quote).map(|(inside, _)| inside)
                })
                .collect();
            match found.as_slice() {
                [] => None,
                [one] => Some(*one),
                _ => Some(None),
            }
        };
        let (plot, place) = (literal("plot_name")??, literal("save_path")??);
        let place = place.strip_prefix("./").unwrap_or(place).trim_end_matches('/');
        let is_plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "._-".contains(c));
        let is_below = !place.starts_with('/') && !place.split('/').any(|part| part == "..");
        if !is_below || !is_plain(plot) || !place.chars().all(|c| c == '/' || is_plain(&c.to_string())) {
            return None;
        }
        let place = if place == "." { "" } else { place };
        Some(if place.is_empty() { format!("{plot}.csv") } else { format!("{place}/{plot}.csv") })
    }

    /// The literal names of sources of extensions, such as `"ops.cu"`.
    pub(super) fn sources(&self) -> impl Iterator<Item = &'t str> {
        // A comment may have an apostrophe, so what is between any two of these may be a name.
        let pieces = self.0.split(['"', '\'', '\n']);
        pieces.filter(|piece| [".cu", ".cpp", ".hip"].iter().any(|end| piece.ends_with(end)))
    }
}
