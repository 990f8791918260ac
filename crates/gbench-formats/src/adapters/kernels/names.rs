//! A kernel's name for readers, from the name that a compiler or library gave it. It depends on that name alone; kernels of
//! one trace that would have the same one keep their full names (`report`).

use std::sync::LazyLock;

use regex::{Captures, Regex};

use gbench_model::sha256_hex;

/// Longer template arguments are cut, and a checksum keeps them apart.
const MAX_ARGUMENTS: usize = 60;
const KEPT: usize = 40;

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("a pattern that the tests use"));
    };
}

pattern!(ANONYMOUS, r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::");
pattern!(CAST, r"\([A-Za-z_][A-Za-z0-9_: ]*\)(-?[0-9]+)");
pattern!(NAMESPACES, r"(?:[A-Za-z_][A-Za-z0-9_]*::)+");
pattern!(CLONE, r"(?: \[clone [^\]]*\]|\.kd)+$");
// Which arguments Triton specialised a kernel for: `_0d1d2de`.
pattern!(SPECIALISED, r"_0[0-9]*(?:[dc]e?[0-9]*)+$");
// A checksum of a kernel's source or options.
pattern!(CHECKSUM, r"_[0-9a-f]{16,64}$");
// The version of the library that a kernel comes with: `__5x_cublas`.
pattern!(LIBRARY, r"__[0-9][0-9x]*_(?:cublas|cublasLt|cudnn)$");

/// Without return type, parameters, namespaces and what identifies a build.
pub(super) fn short(full: &str) -> String {
    let name = CLONE.replace(full.trim(), "");
    let name = ANONYMOUS.replace_all(&name, "");
    let Some(parts) = NameParts::of(&name) else { return name.into_owned() };
    if parts.arguments.is_empty() {
        let plain = LIBRARY.replace(parts.name, "");
        let plain = CHECKSUM.replace(&plain, "");
        return SPECIALISED.replace(&plain, "").into_owned();
    }
    let plain = CAST.replace_all(parts.arguments, |found: &Captures| found[1].to_owned());
    let plain = NAMESPACES.replace_all(&plain, "");
    let arguments = if plain.chars().count() <= MAX_ARGUMENTS {
        plain.into_owned()
    } else {
        let kept: String = plain.chars().take(KEPT).collect();
        format!("{kept}... #{}>", &sha256_hex(parts.arguments.as_bytes())[..8])
    };
    format!("{}{arguments}", parts.name)
}

/// The last component of a demangled name.
struct NameParts<'n> {
    name: &'n str,
    /// With their angle brackets; empty: none.
    arguments: &'n str,
}

impl<'n> NameParts<'n> {
    /// `None`: its brackets do not pair.
    fn of(text: &'n str) -> Option<Self> {
        let (mut open, mut start, mut arguments, mut end) = (Vec::new(), 0, None, text.len());
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'<' | b'(' | b'[' | b'{' => {
                    if open.is_empty() && *byte == b'(' && at > start {
                        end = at;
                        break;
                    }
                    if open.is_empty() && *byte == b'<' {
                        arguments = Some(at);
                    }
                    open.push(*byte);
                }
                b'>' if at > 0 && bytes[at - 1] == b'-' => {}
                b'>' | b')' | b']' | b'}' => {
                    let pair = open.pop()?;
                    if !matches!((pair, byte), (b'<', b'>') | (b'(', b')') | (b'[', b']') | (b'{', b'}')) {
                        return None;
                    }
                }
                b' ' | b':' if open.is_empty() => (start, arguments) = (at + 1, None),
                _ => {}
            }
        }
        let name = text.get(start..arguments.unwrap_or(end))?;
        let arguments = arguments.map_or("", |at| &text[at..end]);
        (open.is_empty() && !name.is_empty()).then_some(Self { name, arguments })
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_name_is_what_tells_instances_apart_and_no_more() {
        let cases = [
            ("saxpy", "saxpy"),
            ("saxpy(int, float, float *, float *)", "saxpy"),
            ("void scale<float, (int)4>(const T1 *, T1 *, int)", "scale<float, 4>"),
            ("(anonymous namespace)::fill(float *, float)", "fill"),
            ("void at::native::<unnamed>::fill<at::Half>(at::Half *)", "fill<Half>"),
            ("std::enable_if<true, void>::type ns::k<(unsigned int)8, (bool)1>(int)", "k<8, 1>"),
            ("add_kernel_0d1d2d3de", "add_kernel"),
            ("kernel_2d", "kernel_2d"),
            ("triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0"),
            ("fused_attention_8f14e45fceea167a5a36dedd4bea2543", "fused_attention"),
            (
                "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas",
                "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_execute_kernel",
            ),
            ("_Z5saxpyifPf.kd", "_Z5saxpyifPf"),
            ("void k<&(void f<int>(int))>(int)", "k<&(void f<int>(int))>"),
            ("k<(a->b)>(int)", "k<(a->b)>"),
            ("broken<(int", "broken<(int"),
            ("operator<(int)>", "operator<(int)>"),
            ("", ""),
        ];
        for (full, expected) in cases {
            assert_eq!(short(full), expected, "{full}");
        }
    }

    #[test]
    fn long_arguments_are_cut_and_stay_apart() {
        let name = |last: &str| {
            short(&format!(
                "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, \
                 at::detail::Array<char *, (int)3>, at::detail::{last}>(int, T2, T3)"
            ))
        };
        let one = name("One");
        assert!(one.starts_with("vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<"), "{one}");
        assert!(one.len() < 100 && one != name("Other"), "{one}");
        assert_eq!(one, name("One"));
    }
}
