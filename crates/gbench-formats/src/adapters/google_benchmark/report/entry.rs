use std::borrow::Cow;

#[derive(Default)]
pub(super) struct Entry<'a> {
    pub name: Option<Cow<'a, str>>,
    pub run_name: Option<Cow<'a, str>>,
    pub run_type: Option<Cow<'a, str>>,
    pub aggregate_name: Option<Cow<'a, str>>,
    pub label: Option<Cow<'a, str>>,
    pub time_unit: Option<Cow<'a, str>>,
    pub error_message: Option<Cow<'a, str>>,
    pub skip_message: Option<Cow<'a, str>>,
    pub error_occurred: Option<bool>,
    pub skipped: Option<bool>,
    pub repetition_index: Option<u64>,
    pub threads: Option<u64>,
    pub iterations: Option<u64>,
    pub real_time: Option<f64>,
    pub cpu_time: Option<f64>,
    pub counters: Vec<(Cow<'a, str>, f64)>,
}
