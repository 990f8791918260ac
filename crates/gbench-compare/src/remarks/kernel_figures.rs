//! Base and head under a profiler, side by side.
//!
//! One rule orders figures of all kinds. How far a figure moved is
//!
//! - for a time, a size, a clock or a count: `|ln(head / base)|`. From or to zero is counted as a factor of ten.
//! - for a percentage: the difference in points, over 100. A point counts as much as one percent of a time.
//!
//! and that times the share of the kernel's time in the time of all kernels, on the side where it is larger: a kernel
//! with little time does not come before the one that takes most of it. Where times are not known, each kernel has full
//! weight.

use gbench_model::{KernelProfile, MovedFigure, ProfileFigure};

/// Seconds of all launches; 0 where they are not known.
fn time_of(kernel: &KernelProfile) -> f64 {
    let figure = |figure| kernel.figures.get(&figure).copied().unwrap_or(0.0);
    figure(ProfileFigure::KernelTime) * figure(ProfileFigure::Launches)
}

/// The figures of two sides, per kernel; those that moved most come first, those that one side alone knows last. Kernels
/// are matched by their names; where each side has one alone, the two are matched whatever their names are. Metrics that
/// without a figure are not among them.
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
    use strum::IntoEnumIterator;

    fn kernels(texts: &[&str]) -> Vec<KernelProfile> {
        let figure = |word: &str| {
            let (name, value) = word.split_once('=').unwrap();
            let figure = ProfileFigure::iter().find(|figure| format!("{figure:?}") == name).unwrap();
            (figure, value.parse().unwrap())
        };
        let kernel = |text: &&str| {
            let mut words = text.split(' ');
            let kernel = words.next().unwrap().to_owned();
            KernelProfile { kernel, figures: words.map(figure).collect(), ..KernelProfile::default() }
        };
        texts.iter().map(kernel).collect()
    }

    fn moved(base: &[&str], head: &[&str]) -> String {
        let side = |value: Option<f64>| value.map_or("none".to_owned(), |value| value.to_string());
        let text = |MovedFigure { kernel, head_kernel, figure, base, head }| {
            let head_kernel = head_kernel.map_or(String::new(), |name| format!(" as {name}"));
            format!("{kernel}{head_kernel} {figure:?} {} {}", side(base), side(head))
        };
        moved_most(&kernels(base), &kernels(head)).into_iter().map(text).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn one_rule_orders_ratios_and_points_whichever_side_is_the_base() {
        let base = ["k KernelTime=1 L2HitRate=80 L1HitRate=1 Registers=32 Cycles=7"];
        let head = ["k KernelTime=1.2 L2HitRate=50 L1HitRate=2 Registers=64 Cycles=7"];
        let there = "k Registers 32 64, k L2HitRate 80 50, k KernelTime 1 1.2, k L1HitRate 1 2, k Cycles 7 7";
        let back = "k Registers 64 32, k L2HitRate 50 80, k KernelTime 1.2 1, k L1HitRate 2 1, k Cycles 7 7";
        assert_eq!([moved(&base, &head), moved(&head, &base)], [there, back]);
    }

    #[test]
    fn a_kernel_of_little_time_stands_behind_the_one_that_the_time_goes_into() {
        let base = ["small KernelTime=0.01 Launches=1", "main KernelTime=1 Launches=10"];
        let head = ["small KernelTime=0.02 Launches=1", "main KernelTime=1.1 Launches=10"];
        let first = "main KernelTime 1 1.1, small KernelTime 0.01 0.02, ";
        assert!(moved(&base, &head).starts_with(first));
        let moved = moved(&["a Registers=10", "b Registers=10"], &["a Registers=11", "b Registers=20"]);
        assert_eq!(moved, "b Registers 10 20, a Registers 10 11");
    }

    #[test]
    fn what_one_side_alone_knows_stands_last_and_says_so() {
        let base = ["old KernelTime=9", "same KernelTime=1 Occupancy=50"];
        let moved = moved(&base, &["new KernelTime=9", "same KernelTime=1.1"]);
        let both =
            "same KernelTime 1 1.1, old KernelTime 9 none, same Occupancy 50 none, new KernelTime none 9";
        assert_eq!(moved, both);
        assert_eq!(moved_most(&[], &[]), []);
    }

    #[test]
    fn one_kernel_a_side_is_matched_whatever_it_is_called() {
        let base = ["gemm<64> SharedBytes=0 KernelTime=1"];
        let other = moved(&base, &["gemm<128> SharedBytes=4096 KernelTime=1"]);
        assert_eq!(other, "gemm<64> as gemm<128> SharedBytes 0 4096, gemm<64> as gemm<128> KernelTime 1 1");
        assert!(!moved(&base, &base).contains(" as "));
    }
}
