//! The imports of a Python source, by its lines. Nothing is run: a conditional import is included.

use std::collections::BTreeSet;

/// The first names of absolute imports: `import torch.nn as nn` and `from torch import nn` are both `torch`.
pub(super) fn imported(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for line in code_lines(text) {
        for statement in line.split(';') {
            let statement = statement.trim();
            // `try: import torch` and `if x: import torch`.
            let statement = statement.split_once(": ").map_or(statement, |(before, rest)| {
                if starts_block(before) { rest.trim() } else { statement }
            });
            if let Some(names) = keyword(statement, "import") {
                found.extend(names.split(',').filter_map(first_name));
            } else if let Some(rest) = keyword(statement, "from") {
                found.extend(rest.split_once(" import").and_then(|(module, _)| first_name(module)));
            }
        }
    }
    found
}

fn starts_block(before: &str) -> bool {
    ["try", "else", "finally"].contains(&before) || before.starts_with("if ") || before.starts_with("with ")
}

fn keyword<'t>(statement: &'t str, word: &str) -> Option<&'t str> {
    statement.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t'])).map(str::trim_start)
}

/// The package of a dotted name; `None` for a relative or invalid name.
fn first_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    Some(&text[..end]).filter(|name| !name.is_empty())
}

/// Lines without comments, and without those within triple quotes.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut inside: Option<&str> = None;
    text.lines().filter_map(move |line| {
        let began_inside = inside.is_some();
        let mut rest = line;
        loop {
            match inside {
                Some(quotes) => match rest.split_once(quotes) {
                    Some((_, behind)) => (inside, rest) = (None, behind),
                    None => break,
                },
                None => {
                    let code = rest.split('#').next().unwrap_or("");
                    let opening = ["\"\"\"", "'''"]
                        .into_iter()
                        .filter_map(|quotes| Some((code.find(quotes)?, quotes)))
                        .min();
                    match opening {
                        Some((at, quotes)) => (inside, rest) = (Some(quotes), &rest[at + quotes.len()..]),
                        None => break,
                    }
                }
            }
        }
        (!began_inside).then(|| line.split('#').next().unwrap_or(""))
    })
}

/// The backend of a source, guessed from its imports: `cuda`, `rocm`, `jax`, `pytorch`, else `cpu`.
pub(super) fn guessed_backend(text: &str, imported: &BTreeSet<&str>) -> &'static str {
    let torch = imported.contains("torch");
    if imported.contains("cupy") {
        "cuda"
    } else if torch && text.contains("torch.cuda") && has_word(text, "hip") {
        "rocm"
    } else if imported.contains("jax") {
        "jax"
    } else if torch {
        "pytorch"
    } else {
        "cpu"
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|found| found.eq_ignore_ascii_case(word))
}

/// True if a module comes with Python itself.
pub(super) fn is_standard(name: &str) -> bool {
    STANDARD.split_ascii_whitespace().any(|module| module == name)
}

/// Top-level modules of CPython 3.8 to 3.14.
const STANDARD: &str = "
    __future__ abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit
    audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd
    code codecs codeop collections colorsys compileall compression concurrent configparser contextlib
    contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis
    distutils doctest dummy_threading email encodings ensurepip enum errno faulthandler fcntl filecmp
    fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob
    graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
    ipaddress itertools json keyword lib2to3 linecache locale logging lzma macpath mailbox mailcap
    marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath
    nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools
    pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile
    pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy
    sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket
    socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep
    struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile
    termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback
    tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings
    wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib
    zoneinfo";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_line_by_line() {
        let text = "\"\"\"Text.\nimport wrong\n\"\"\"\nfrom __future__ import annotations\nimport os, numpy as np # import no\n\
                    from .common import x\nfrom torch.nn import functional as F\ntry: import cupy.cuda\nexcept ImportError: pass\n\
                    def f():\n    import jax; import math\n    important = 3\n    x = 'import y'\n# import z\nfrom scipy import (\n    a,\n)\n";
        let found: Vec<&str> = imported(text).into_iter().collect();
        assert_eq!(found, ["__future__", "cupy", "jax", "math", "numpy", "os", "scipy", "torch"]);
    }

    #[test]
    fn s1_3_the_backend_is_guessed_by_imports() {
        for (text, backend) in [
            ("import torch\n", "pytorch"),
            ("import torch\nimport cupy\n", "cuda"),
            ("from jax import numpy\n", "jax"),
            ("import torch\nx = torch.cuda.is_available() # HIP\n", "rocm"),
            ("import torch\nx = torch.cuda.is_available() # ship, whip\n", "pytorch"),
            ("# torch, jax\nimport math\n", "cpu"),
        ] {
            assert_eq!(guessed_backend(text, &imported(text)), backend, "{text}");
        }
    }

    #[test]
    fn pythons_own_modules_are_known() {
        assert!(is_standard("os") && is_standard("zoneinfo") && !is_standard("numpy"));
    }
}
