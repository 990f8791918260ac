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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mangled_name_is_shown_as_written() {
        for (name, shown) in [
            ("_Z5saxpyifPKfPf", "saxpy"),
            ("_Z6repeatIfLi4EEvPT_", "repeat<float, 4>"),
            ("_ZN3lib4gemmI6__halfLb1EEEvPKT_S3_PS1_i", "lib::gemm<__half, true>"),
            ("_ZN12_GLOBAL__N_15quietEPi", "(anonymous namespace)::quiet"),
        ] {
            assert_eq!(display_name(name), shown);
        }
    }

    #[test]
    fn another_name_stays() {
        for name in ["plain", "", "_Z", "_Z9", "triton_poi_fused_add_0", "_R1x", "_Z5saxpyif\u{e9}"] {
            assert_eq!(display_name(name), name);
        }
    }
}
