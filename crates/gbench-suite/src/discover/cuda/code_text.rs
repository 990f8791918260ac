//! The code of a C++ source without comments, string literals, preprocessor lines, and code that these hide from a run-time
//! compiler.

/// A word, a number, or one mark, such as `::`.
pub(crate) type CodeToken<'t> = &'t str;

pub(crate) struct CodeText {
    pub code: String,
    /// The first header that a run-time compiler lacks.
    pub host_header: Option<String>,
}

/// Headers of C and of host libraries; those of C++ have no point in their names.
const OF_C: [&str; 38] = [
    "assert.h",
    "complex.h",
    "cublas.h",
    "cublasLt.h",
    "cublas_v2.h",
    "ctype.h",
    "cuda.h",
    "cudnn.h",
    "cufft.h",
    "curand.h",
    "cusolverDn.h",
    "cusparse.h",
    "errno.h",
    "fcntl.h",
    "fenv.h",
    "float.h",
    "getopt.h",
    "inttypes.h",
    "limits.h",
    "locale.h",
    "math.h",
    "mpi.h",
    "nccl.h",
    "omp.h",
    "pthread.h",
    "setjmp.h",
    "signal.h",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "strings.h",
    "time.h",
    "unistd.h",
    "wchar.h",
];
const OF_HOST: [&str; 9] =
    ["torch/", "ATen/", "c10/", "pybind11/", "thrust/", "sys/", "boost/", "Eigen/", "benchmark/"];

impl CodeText {
    pub(crate) fn new(source: &str) -> Self {
        let without = blanked(source, false);
        let mut code = String::with_capacity(without.len());
        let (mut host_header, mut conditions) = (None, Vec::new());
        let mut lines = without.lines();
        let is_seen = |conditions: &[Condition]| conditions.iter().all(|condition| condition.seen);
        while let Some(line) = lines.next() {
            let Some(directive) = line.trim_start().strip_prefix('#') else {
                if is_seen(&conditions) {
                    code.push_str(line);
                }
                code.push('\n');
                continue;
            };
            let mut directive = directive.trim().to_owned();
            while directive.ends_with('\\') {
                directive.pop();
                let Some(more) = lines.next() else { break };
                directive.push_str(more.trim_end());
            }
            note(&directive, &mut conditions);
            if is_seen(&conditions) && host_header.is_none() {
                host_header = included(&directive).filter(|name| is_of_host(name));
            }
            code.push('\n');
        }
        Self { code: blanked(&code, true), host_header }
    }
}

/// A condition of the preprocessor: whether a run-time compiler sees the current branch, and the others. It sees all branches
/// of unknown conditions.
struct Condition {
    seen: bool,
    others: bool,
}

fn note(directive: &str, conditions: &mut Vec<Condition>) {
    let plain: String = directive.chars().filter(|c| !c.is_whitespace() && !['(', ')'].contains(c)).collect();
    const RTC: &str = "__CUDACC_RTC__";
    let of_rtc = |words: [&str; 3]| words.iter().any(|word| plain == format!("{word}{RTC}"));
    if plain == "if0" || of_rtc(["ifndef", "if!defined", "if!"]) {
        conditions.push(Condition { seen: false, others: true });
    } else if plain == "if1" || of_rtc(["ifdef", "ifdefined", "if"]) {
        conditions.push(Condition { seen: true, others: false });
    } else if plain.starts_with("if") {
        conditions.push(Condition { seen: true, others: true });
    } else if plain.starts_with("else") || plain.starts_with("elif") {
        if let Some(last) = conditions.last_mut() {
            last.seen = last.others;
        }
    } else if plain.starts_with("endif") {
        conditions.pop();
    }
}

/// The header of `include <name>`. Headers in quotes are the project's own.
fn included(directive: &str) -> Option<String> {
    let rest = directive.strip_prefix("include")?.trim_start();
    Some(rest.strip_prefix('<')?.split_once('>')?.0.trim().to_owned())
}

fn is_of_host(name: &str) -> bool {
    let of_cpp = !name.contains(['.', '/']);
    of_cpp || OF_C.contains(&name) || OF_HOST.iter().any(|folder| name.starts_with(folder))
}

/// The source with blanks for comments or, with `texts`, for literals. Line ends stay.
fn blanked(source: &str, texts: bool) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let (length, blank) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), !texts)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            (comment.find("*/").map_or(rest.len(), |at| at + 4), !texts)
        } else if let Some(raw) = rest.strip_prefix("R\"").filter(|_| !is_of_word(before)) {
            (raw_text(raw).map_or(rest.len(), |length| length + 2), texts)
        } else if c == '"' || (c == '\'' && !is_of_word(before)) {
            // An apostrophe after a digit separates digits.
            (quoted(rest, c), texts)
        } else {
            (c.len_utf8(), false)
        };
        let (part, more) = rest.split_at(length);
        if blank {
            out.push(' ');
            out.extend(part.chars().filter(|c| *c == '\n'));
        } else {
            out.push_str(part);
        }
        before = part.chars().next_back().unwrap_or(' ');
        rest = more;
    }
    out
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Length of a literal with its quotes; it ends at the line's end at the latest.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' if !escaped => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn raw_text(text: &str) -> Option<usize> {
    let open = text.find('(')?;
    let end = format!("){}\"", &text[..open]);
    text.find(&end).map(|at| at + end.len())
}

pub(crate) fn tokens(code: &str) -> Vec<CodeToken<'_>> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = if is_of_word(c) {
            rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        let (token, more) = rest.split_at(length);
        found.push(token);
        rest = more.trim_start();
    }
    found
}
