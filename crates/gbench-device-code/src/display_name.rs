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

fn demangled(name: &str, options: &DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let shown = Symbol::new(name).ok()?.demangle_with_options(options).ok()?;
    (!shown.is_empty() && shown.len() <= LONGEST).then_some(shown)
}
