//! The launches of each kernel, averaged and counted; without those that only help to measure.

use std::collections::{BTreeMap, HashMap};

use super::unit;
use gbench_model::{KernelProfile, ProfileFigure, RawMetric};

#[derive(Default)]
pub(super) struct LaunchFigures {
    /// Number of launches in these means.
    pub count: f64,
    /// In the units of [`ProfileFigure`].
    pub figures: Vec<(ProfileFigure, f64)>,
    pub raw: Vec<(String, RawMetric)>,
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: f64, count: f64) {
        self.sum += value * count;
        self.count += count;
    }

    fn value(&self) -> f64 {
        self.sum / self.count
    }
}

#[derive(Default)]
struct KernelLaunches {
    name: String,
    count: f64,
    figures: BTreeMap<ProfileFigure, Mean>,
    raw: BTreeMap<String, (String, Mean)>,
}

#[derive(Default)]
pub(super) struct WatchedKernels {
    kernels: Vec<KernelLaunches>,
    places: HashMap<String, usize>,
}

impl WatchedKernels {
    pub(super) fn add(&mut self, name: &str, launch: LaunchFigures) {
        let place = *self.places.entry(name.to_owned()).or_insert_with(|| {
            self.kernels.push(KernelLaunches { name: name.to_owned(), ..KernelLaunches::default() });
            self.kernels.len() - 1
        });
        let Some(kernel) = self.kernels.get_mut(place) else { return };
        kernel.count += launch.count;
        for (figure, value) in launch.figures {
            kernel.figures.entry(figure).or_default().add(value, launch.count);
        }
        for (name, metric) in launch.raw {
            let (unit, mean) =
                kernel.raw.entry(name.clone()).or_insert_with(|| (metric.unit.clone(), Mean::default()));
            // Each launch is scaled by itself: `998 Kbyte` and `1.02 Mbyte` are one metric.
            match in_unit(metric.value, &metric.unit, unit) {
                Some(value) => mean.add(value, launch.count),
                None => {
                    let apart = format!("{name} [{}]", metric.unit);
                    let (_, mean) = kernel.raw.entry(apart).or_insert((metric.unit, Mean::default()));
                    mean.add(metric.value, launch.count);
                }
            }
        }
    }

    /// Sorted by total time, the longest first; without times, in the order of the text. Without kernels that only help to
    /// measure, unless the profile has no others.
    pub(super) fn finish(mut self) -> Vec<KernelProfile> {
        if self.kernels.iter().any(|kernel| !helps_to_measure(&kernel.name)) {
            self.kernels.retain(|kernel| !helps_to_measure(&kernel.name));
        }
        let mut kernels: Vec<KernelProfile> = self.kernels.into_iter().map(KernelLaunches::profile).collect();
        kernels.sort_by(|a, b| time_of(b).total_cmp(&time_of(a)));
        kernels
    }
}

/// Kernels that block the device, stamp the time or flush the cache: those of this program, and the one by which torch keeps a
/// stream busy.
fn helps_to_measure(kernel: &str) -> bool {
    const OURS: [&str; 4] = ["gb_spin", "gb_stamp", "gb_fill", "gb_sweep"];
    const OF_TORCH: &str = "at::cuda::";
    let plain = kernel.split('(').next().unwrap_or_default();
    let last = |name: &str| kernel.split('(').any(|part| part.rsplit("::").next() == Some(name));
    OURS.contains(&plain) || plain == "spin_kernel" || (kernel.starts_with(OF_TORCH) && last("spin_kernel"))
}

impl KernelLaunches {
    fn profile(self) -> KernelProfile {
        let mut figures: BTreeMap<ProfileFigure, f64> =
            self.figures.into_iter().map(|(figure, mean)| (figure, mean.value())).collect();
        figures.insert(ProfileFigure::Launches, self.count);
        let raw =
            |(name, (unit, mean)): (String, (String, Mean))| (name, RawMetric { value: mean.value(), unit });
        KernelProfile { kernel: self.name, figures, raw_metrics: self.raw.into_iter().map(raw).collect() }
    }
}

fn in_unit(value: f64, from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(value);
    }
    let ((power, base), (into, same)) = (unit::scale(from)?, unit::scale(to)?);
    (base == same).then(|| unit::shifted(value, power - into))
}

/// Seconds of all launches; 0 if unknown.
fn time_of(kernel: &KernelProfile) -> f64 {
    let figure = |figure| kernel.figures.get(&figure).copied().unwrap_or(0.0);
    figure(ProfileFigure::KernelTime) * figure(ProfileFigure::Launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b35_kernels_that_only_help_to_measure_are_left_out() {
        let names = |names: &[&str]| {
            let mut kernels = WatchedKernels::default();
            names
                .iter()
                .for_each(|name| kernels.add(name, LaunchFigures { count: 1.0, ..Default::default() }));
            kernels.finish().into_iter().map(|kernel| kernel.kernel).collect::<Vec<_>>()
        };
        let help = [
            "gb_spin",
            "gb_stamp(unsigned long long *)",
            "gb_fill",
            "at::cuda::<unnamed>::spin_kernel(long)",
            "at::cuda::(anonymous namespace)::spin_kernel(long)",
            "spin_kernel",
        ];
        let other = ["gb_swish", "gb_fill_all", "mine::spin_kernel(int)", "void at::native::fill<int>(int)"];
        assert_eq!(names(&[&help[..], &other].concat()), other);
        // Where nothing else ran, they were what was measured.
        assert_eq!(names(&["gb_fill"]), ["gb_fill"]);
    }

    #[test]
    fn launches_of_a_kernel_are_averaged_and_counted() {
        let launch = |seconds: f64, value: f64, unit: &str| LaunchFigures {
            count: 1.0,
            figures: vec![(ProfileFigure::KernelTime, seconds)],
            raw: vec![("traffic".to_owned(), RawMetric { value, unit: unit.to_owned() })],
        };
        let mut kernels = WatchedKernels::default();
        kernels.add("short", launch(1.0, 1.0, "sector"));
        kernels.add("long", launch(2.0, 500.0, "Kbyte"));
        kernels.add("long", launch(4.0, 1.5, "Mbyte"));
        kernels.add("long", launch(3.0, 7.0, "sector"));
        let kernels = kernels.finish();
        assert_eq!(kernels[0].kernel, "long");
        assert_eq!(
            kernels[0].figures,
            BTreeMap::from([(ProfileFigure::KernelTime, 3.0), (ProfileFigure::Launches, 3.0)])
        );
        let raw = |name: &str| kernels[0].raw_metrics[name].clone();
        assert_eq!(raw("traffic"), RawMetric { value: 1000.0, unit: "Kbyte".into() });
        assert_eq!(raw("traffic [sector]"), RawMetric { value: 7.0, unit: "sector".into() });
    }
}
