//! Names of kernels as their authors wrote them, for reports only.

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer names are not demangled, which may cost far more than their length.
const LONGEST: usize = 4096;

/// `saxpy` for `_Z5saxpyifPKfPf`, `repeat<float, 4>` for `_Z6repeatIfLi4EEvPT_`: a C++ name without parameters and return
/// type. Other names stay as they are. Two kernels may share such a name, so it must not be used as a key.
pub fn display_name(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
    demangled(name, &options).unwrap_or_else(|| name.to_owned())
}

/// Those of `names` that `wanted` means: that very name, else all with that readable name, else all that have it before their
/// template arguments.
pub fn named<'n>(names: &[&'n str], wanted: &str) -> Vec<&'n str> {
    let blankless = |text: &str| text.chars().filter(|it| !it.is_whitespace()).collect::<String>();
    let wanted_name = blankless(wanted);
    let of = |shown: &dyn Fn(&str) -> String| -> Vec<&'n str> {
        names.iter().copied().filter(|name| shown(name) == wanted_name).collect()
    };
    let readable = |name: &str| blankless(&display_name(name));
    let ways: [&dyn Fn(&str) -> String; 3] =
        [&|name| name.to_owned(), &readable, &|name| without_arguments(&readable(name)).to_owned()];
    ways.into_iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

/// `ops::blur` of `ops::blur<float,4>`.
fn without_arguments(name: &str) -> &str {
    let mut depth = 0_usize;
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            b'>' => depth += 1,
            b'<' if depth > 1 => depth -= 1,
            b'<' if depth == 1 => return &name[..at],
            _ if depth == 0 => return name,
            _ => {}
        }
    }
    name
}

fn demangled(name: &str, options: &DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let shown = Symbol::new(name).ok()?.demangle_with_options(options).ok()?;
    (!shown.is_empty() && shown.len() <= LONGEST).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_found_by_its_symbol_its_readable_name_and_without_its_arguments() {
        let names = [
            "saxpy",
            "_ZN3ops4blurIfLi4EEEvPKT_PS1_",
            "_ZN3ops4blurIdLi4EEEvPKT_PS1_",
            "_Z4onceIfEvPT_",
            "_Z1kPf",
            "_Z1kPd",
        ];
        for (wanted, expected) in [
            ("saxpy", &names[..1]),
            ("ops::blur<float,4>", &names[1..2]),
            ("ops::blur< double, 4 >", &names[2..3]),
            ("ops::blur", &names[1..3]),
            ("once", &names[3..4]),
            ("k", &names[4..]),
            ("_Z1kPd", &names[5..]),
            ("blur", &[]),
        ] {
            assert_eq!(named(&names, wanted), expected, "{wanted}");
        }
    }
}
