//! The table of versions of CUDA, drivers, packages and architectures that belong together.

/// Toolkits that know an architecture: the first, and the last if a later one dropped it.
const ARCHITECTURES: [(u32, (u32, u32), u32); 18] = [
    (50, (6, 5), 12),
    (52, (6, 5), 12),
    (60, (8, 0), 12),
    (61, (8, 0), 12),
    (70, (9, 0), 12),
    (72, (9, 2), 12),
    (75, (10, 0), u32::MAX),
    (80, (11, 0), u32::MAX),
    (86, (11, 1), u32::MAX),
    (87, (11, 4), u32::MAX),
    (88, (13, 0), u32::MAX),
    (89, (11, 8), u32::MAX),
    (90, (11, 8), u32::MAX),
    (100, (12, 8), u32::MAX),
    (103, (12, 9), u32::MAX),
    // In CUDA 12 the same chip is 10.1.
    (110, (13, 0), u32::MAX),
    (120, (12, 8), u32::MAX),
    (121, (12, 9), u32::MAX),
];
/// Embedded chips, whose code is theirs alone.
const EMBEDDED: [u32; 6] = [53, 62, 72, 87, 101, 110];

/// CUDA 12.0 is the first that compiles for a card alone: `sm_90a`.
const FIRST_WITH_OWN: (u32, u32) = (12, 0);

/// `90` of `sm_90` and `sm_90a`.
pub(super) fn number_of(arch: &str) -> Option<u32> {
    arch.strip_prefix("sm_")?.trim_end_matches('a').parse().ok()
}

/// The architecture for which a compiler that knows `known` compiles for a card of `arch`: that one, without the suffix of the card's own
/// features if it is too old for it, or else code for the newest earlier card of the same major version, which this card runs,
/// too. `None`: it knows none of these. An architecture in an unknown form is left to the compiler.
pub(super) fn target(arch: &str, version: (u32, u32), known: &[u32]) -> Option<String> {
    let Some(number) = number_of(arch) else { return Some(arch.to_owned()) };
    if known.is_empty() || known.contains(&number) {
        let own = if arch.ends_with('a') && version >= FIRST_WITH_OWN { "a" } else { "" };
        return Some(format!("sm_{number}{own}"));
    }
    let runs_here = |other: &&u32| {
        **other / 10 == number / 10
            && **other < number
            && ![number, **other].iter().any(|it| EMBEDDED.contains(it))
    };
    known.iter().filter(runs_here).max().map(|relative| format!("sm_{relative}"))
}

/// `CUDA 12.4` for 12040.
pub(super) fn shown(cuda_version: u32) -> String {
    format!("CUDA {}.{}", cuda_version / 1000, cuda_version % 1000 / 10)
}

/// 13 of `NVRTC 13.5`.
pub(super) fn major_of(library: &str) -> Option<u32> {
    library.rsplit(' ').next()?.split('.').next()?.parse().ok()
}

/// NVIDIA's Python package for a major version of CUDA: `nvidia-cuda-nvrtc-cu12`, from 13 on without the suffix.
pub(super) fn package(stem: &str, major: Option<u32>) -> String {
    match major {
        Some(major @ 11..=12) => format!("nvidia-{stem}-cu{major}"),
        Some(major @ 13..) => format!("nvidia-{stem}=={major}.*"),
        _ => format!("nvidia-{stem}"),
    }
}

/// The first driver that loads code of a major version of CUDA.
pub(super) fn driver(major: u32) -> String {
    match major {
        11 => "driver 450 or newer".into(),
        12 => "driver 525 or newer".into(),
        13 => "driver 580 or newer".into(),
        _ => format!("a driver for CUDA {major}"),
    }
}

/// The first version of CUDA that compiles for a card, if the card is known.
pub(super) fn first_for(arch: &str) -> Option<(u32, u32)> {
    let number = number_of(arch)?;
    ARCHITECTURES.iter().find(|(known, _, _)| *known == number).map(|(_, first, _)| *first)
}

/// The next step where no compiler compiles for a card. `major`: of the driver, if it is known.
pub(super) fn advice_for(arch: &str, major: Option<u32>) -> String {
    let known = ARCHITECTURES.iter().find(|(number, _, _)| number_of(arch) == Some(*number));
    let Some((_, first, last)) = known else {
        return format!("install the newest {}", package("cuda-nvrtc", major));
    };
    match major {
        Some(major) if first.0 > major => {
            format!("needs {}, and then {}", driver(first.0), package("cuda-nvrtc", Some(first.0)))
        }
        _ => {
            let of = major.unwrap_or(first.0).clamp(first.0.max(11), *last);
            let least = if of == first.0 && first.1 > 0 {
                format!(" {}.{} or newer", first.0, first.1)
            } else {
                String::new()
            };
            format!("install {}{least}", package("cuda-nvrtc", Some(of)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUDA_11_8: &[u32] = &[35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90];
    const CUDA_12_8: &[u32] = &[50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120];
    const CUDA_13_5: &[u32] = &[75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121];

    #[test]
    fn b34_the_suffix_of_a_card_s_own_features_is_for_compilers_that_know_it() {
        assert_eq!(target("sm_90a", (11, 8), CUDA_11_8).as_deref(), Some("sm_90"));
        assert_eq!(target("sm_90a", (12, 8), CUDA_12_8).as_deref(), Some("sm_90a"));
        assert_eq!(target("sm_90", (13, 5), CUDA_13_5).as_deref(), Some("sm_90"));
        assert_eq!(target("sm_odd", (13, 5), CUDA_13_5).as_deref(), Some("sm_odd"));
    }

    #[test]
    fn b34_a_card_runs_the_code_of_an_earlier_one_of_its_major_version() {
        for (arch, version, known, expected) in [
            ("sm_121a", (12, 8), CUDA_12_8, Some("sm_120")),
            ("sm_103a", (12, 8), CUDA_12_8, Some("sm_100")),
            ("sm_89", (11, 5), &[75, 80, 86, 87][..], Some("sm_86")),
            ("sm_120a", (11, 8), CUDA_11_8, None),
            // Code of an embedded chip runs there alone, and it runs no other.
            ("sm_87", (11, 1), &[75, 80, 86], None),
            ("sm_89", (11, 4), &[75, 80, 87], Some("sm_80")),
            ("sm_70", (13, 5), CUDA_13_5, None),
        ] {
            assert_eq!(target(arch, version, known).as_deref(), expected, "{arch}");
        }
    }

    #[test]
    fn b34_what_to_install_follows_the_driver_and_the_card() {
        for (arch, major, words) in [
            ("sm_120a", Some(12), "install nvidia-cuda-nvrtc-cu12 12.8 or newer"),
            ("sm_121a", Some(13), "install nvidia-cuda-nvrtc==13.*"),
            ("sm_110a", Some(12), "needs driver 580 or newer, and then nvidia-cuda-nvrtc==13.*"),
            ("sm_90a", Some(11), "install nvidia-cuda-nvrtc-cu11 11.8 or newer"),
            ("sm_70", Some(13), "install nvidia-cuda-nvrtc-cu12"),
            ("sm_100", None, "install nvidia-cuda-nvrtc-cu12 12.8 or newer"),
            ("sm_250", Some(12), "install the newest nvidia-cuda-nvrtc-cu12"),
        ] {
            assert_eq!(advice_for(arch, major), words);
        }
    }
}
