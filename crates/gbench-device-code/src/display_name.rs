//! Names of kernels as their authors wrote them, for reports only.

use cpp_demangle::{DemangleOptions, Symbol};

/// A longer name is shown as it is: taking it apart may cost much more than its length.
const LONGEST: usize = 4096;

/// `saxpy` for `_Z5saxpyifPKfPf`, `repeat<float, 4>` for `_Z6repeatIfLi4EEvPT_`: a C++ name without its parameters and what
/// it returns. Any other name stays as it is. Two kernels may share such a name, so no key is made of it.
pub fn display_name(name: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
    demangled(name, &options).unwrap_or_else(|| name.to_owned())
}

fn demangled(name: &str, options: &DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let shown = Symbol::new(name).ok()?.demangle_with_options(options).ok()?;
    (!shown.is_empty() && shown.len() <= LONGEST).then_some(shown)
}
