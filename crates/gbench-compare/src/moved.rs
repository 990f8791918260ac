//! Base and head under a profiler, side by side.
//!
//! One rule orders figures of all kinds. How far a figure moved is
//!
//! - for a time, a size, a clock or a count: `|ln(head / base)|`. From or to zero is counted as a factor of ten.
//! - for a percentage: the difference in points, over 100. A point counts as much as one percent of a time.
//!
//! and that times the share of the kernel's time in the time of all kernels, on the side where it is larger: a kernel of which there is little does not stand
//! before the one that the time goes into. Where times are not known, each kernel counts in full.

use gbench_model::{KernelProfile, MovedFigure, ProfileFigure};

/// Seconds of all launches; 0 where they are not known.
fn time_of(kernel: &KernelProfile) -> f64 {
    let figure = |figure| kernel.figures.get(&figure).copied().unwrap_or(0.0);
    figure(ProfileFigure::KernelTime) * figure(ProfileFigure::Launches)
}

/// The figures of two sides, per kernel; those that moved most come first, those that one side alone knows last. Kernels are matched by their names; where
/// each side has one alone, the two are matched whatever their names are. Metrics that are no figure are not among them.
pub fn moved_most(base: &[KernelProfile], head: &[KernelProfile]) -> Vec<MovedFigure> {
    let (base_time, head_time) = (total(base), total(head));
    let mut ranked: Vec<(f64, MovedFigure)> = Vec::new();
    for (own, other) in pairs(base, head) {
        let share = share(own, base_time).max(share(other, head_time));
        ranked.extend(figures(own, other).into_iter().map(|figure| (movement(&figure) * share, figure)));
    }
    let is_one_sided = |figure: &MovedFigure| figure.base.is_none() || figure.head.is_none();
    ranked
        .sort_by(|(a, one), (b, two)| is_one_sided(one).cmp(&is_one_sided(two)).then_with(|| b.total_cmp(a)));
    ranked.into_iter().map(|(_, figure)| figure).collect()
}

type Pair<'a> = (Option<&'a KernelProfile>, Option<&'a KernelProfile>);

fn pairs<'a>(base: &'a [KernelProfile], head: &'a [KernelProfile]) -> Vec<Pair<'a>> {
    if let ([own], [other]) = (base, head) {
        return vec![(Some(own), Some(other))];
    }
    let of_name =
        |kernels: &'a [KernelProfile], name: &str| kernels.iter().find(|kernel| kernel.kernel == name);
    let both = base.iter().map(|own| (Some(own), of_name(head, &own.kernel)));
    let new = head.iter().filter(|other| of_name(base, &other.kernel).is_none());
    both.chain(new.map(|other| (None, Some(other)))).collect()
}

fn figures(base: Option<&KernelProfile>, head: Option<&KernelProfile>) -> Vec<MovedFigure> {
    use strum::IntoEnumIterator;
    let Some(named) = base.or(head) else { return Vec::new() };
    let head_kernel = head.map(|head| &head.kernel).filter(|name| **name != named.kernel);
    let of = |kernel: Option<&KernelProfile>, figure| kernel?.figures.get(&figure).copied();
    ProfileFigure::iter()
        .map(|figure| MovedFigure {
            kernel: named.kernel.clone(),
            head_kernel: head_kernel.cloned(),
            figure,
            base: of(base, figure),
            head: of(head, figure),
        })
        .filter(|figure| figure.base.is_some() || figure.head.is_some())
        .collect()
}

/// What a change from or to zero is counted as.
const FROM_ZERO: f64 = 10.0;

/// By the rule of this file, without the kernel's share; 0 where one side does not know it.
fn movement(figure: &MovedFigure) -> f64 {
    let (Some(base), Some(head)) = (figure.base, figure.head) else { return 0.0 };
    if base == head {
        return 0.0;
    }
    if figure.figure.is_percent() {
        return (head - base).abs() / 100.0;
    }
    let ratio = head / base;
    if ratio.is_finite() && ratio > 0.0 { ratio.ln().abs() } else { FROM_ZERO.ln() }
}

/// Seconds of all kernels of a side.
fn total(kernels: &[KernelProfile]) -> f64 {
    kernels.iter().map(time_of).sum()
}

fn share(kernel: Option<&KernelProfile>, total: f64) -> f64 {
    match kernel {
        None => 0.0,
        Some(kernel) if kernel.figures.contains_key(&ProfileFigure::KernelTime) && total > 0.0 => {
            time_of(kernel) / total
        }
        Some(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gbench_model::ProfileFigure::*;

    fn kernel(name: &str, figures: &[(ProfileFigure, f64)]) -> KernelProfile {
        let figures = figures.iter().copied().collect();
        KernelProfile { kernel: name.to_owned(), figures, ..KernelProfile::default() }
    }

    fn order(moved: &[MovedFigure]) -> Vec<(&str, ProfileFigure)> {
        moved.iter().map(|figure| (figure.kernel.as_str(), figure.figure)).collect()
    }

    #[test]
    fn one_rule_orders_ratios_and_points() {
        let base = [kernel(
            "k",
            &[(KernelTime, 1.0), (L2HitRate, 80.0), (L1HitRate, 1.0), (Registers, 32.0), (Cycles, 7.0)],
        )];
        let head = [kernel(
            "k",
            &[(KernelTime, 1.2), (L2HitRate, 50.0), (L1HitRate, 2.0), (Registers, 64.0), (Cycles, 7.0)],
        )];
        let moved = moved_most(&base, &head);
        // ln 2 = 0.69, 30 points, ln 1.2 = 0.18, one point.
        let figures: Vec<ProfileFigure> = moved.iter().map(|figure| figure.figure).collect();
        assert_eq!(figures, [Registers, L2HitRate, KernelTime, L1HitRate, Cycles]);
        assert_eq!((moved[0].base, moved[0].head), (Some(32.0), Some(64.0)));
        // The order is the same whichever side is the base.
        assert_eq!(order(&moved_most(&head, &base)), order(&moved));
    }

    #[test]
    fn a_kernel_of_little_time_stands_behind_the_one_that_the_time_goes_into() {
        let side = |main: f64, small: f64| {
            [
                kernel("small", &[(KernelTime, small), (Launches, 1.0)]),
                kernel("main", &[(KernelTime, main), (Launches, 10.0)]),
            ]
        };
        let moved = moved_most(&side(1.0, 0.01), &side(1.1, 0.02));
        assert_eq!(order(&moved)[..2], [("main", KernelTime), ("small", KernelTime)]);
        // Without times each counts in full.
        let of = |a: f64, b: f64| [kernel("a", &[(Registers, a)]), kernel("b", &[(Registers, b)])];
        assert_eq!(
            order(&moved_most(&of(10.0, 10.0), &of(11.0, 20.0))),
            [("b", Registers), ("a", Registers)]
        );
    }

    #[test]
    fn what_one_side_alone_knows_stands_last_and_says_so() {
        let base =
            [kernel("old", &[(KernelTime, 9.0)]), kernel("same", &[(KernelTime, 1.0), (Occupancy, 50.0)])];
        let head = [kernel("new", &[(KernelTime, 9.0)]), kernel("same", &[(KernelTime, 1.1)])];
        let moved = moved_most(&base, &head);
        assert_eq!(
            order(&moved),
            [("same", KernelTime), ("old", KernelTime), ("same", Occupancy), ("new", KernelTime)]
        );
        assert_eq!((moved[1].base, moved[1].head), (Some(9.0), None));
        assert_eq!((moved[3].base, moved[3].head), (None, Some(9.0)));
        assert_eq!(moved_most(&[], &[]), []);
    }

    #[test]
    fn one_kernel_a_side_is_matched_whatever_it_is_called() {
        let base = [kernel("gemm<64>", &[(SharedBytes, 0.0), (KernelTime, 1.0)])];
        let head = [kernel("gemm<128>", &[(SharedBytes, 4096.0), (KernelTime, 1.0)])];
        let moved = moved_most(&base, &head);
        assert_eq!(order(&moved), [("gemm<64>", SharedBytes), ("gemm<64>", KernelTime)]);
        assert_eq!(moved[0].head_kernel.as_deref(), Some("gemm<128>"));
        assert_eq!(moved_most(&base, &base)[0].head_kernel, None);
    }
}
