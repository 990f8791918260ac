//! The child's side of the protocol: reads the request, writes events.
//!
//! Samples are buffered while they are taken, and sent only between timed regions.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::spec::{MetricSpec, MicroError};
use gbench_model::Stage;
use gbench_model::line::{self, Event, Lack, Order};

/// The longest time that samples are buffered, so that a killed process loses few.
const KEEP_BACK: Duration = Duration::from_secs(1);

/// Writes events, each as one line in one `write`.
pub struct Channel {
    out: Box<dyn Write>,
    /// In the order of each metric's first sample.
    pending: Vec<(&'static MetricSpec, Vec<Option<f64>>)>,
    sent: Instant,
    /// The source of turns, if there is one.
    turns: Option<Box<dyn BufRead>>,
}

impl Channel {
    /// The channel that the gate named; stdout if run by hand. Errors: it cannot be opened.
    pub fn open() -> io::Result<Self> {
        let mut channel = match named(line::env::FD, line::env::EVENTS) {
            // Appends, because the gate may have named a plain file that others write to as well.
            Some(path) => Self::to(OpenOptions::new().append(true).open(path)?),
            None => Self::to(io::stdout()),
        };
        if let Some(path) = named(line::env::TURN_FD, line::env::TURNS) {
            channel = channel.with_turns(BufReader::new(File::open(path)?));
        }
        Ok(channel)
    }

    pub fn to(out: impl Write + 'static) -> Self {
        Self { out: Box::new(out), pending: Vec::new(), sent: Instant::now(), turns: None }
    }

    /// The same channel with turns from `turns`.
    pub fn with_turns(self, turns: impl BufRead + 'static) -> Self {
        Self { turns: Some(Box::new(turns)), ..self }
    }

    /// Returns the turn, if it had one, and waits for the next: the number of iterations, or `None` once all are over.
    pub fn turn(&mut self) -> Result<Option<u32>, MicroError> {
        // Send while the turn is ours: later, it would disturb the other side's measurement.
        self.send_if_due()?;
        self.send(&Event::Yield {})?;
        let lost = || io::Error::other("the request wants turns, and there is nothing to read them from");
        let turns = self.turns.as_mut().ok_or_else(lost).map_err(MicroError::Channel)?;
        let mut line = String::new();
        if turns.read_line(&mut line).map_err(MicroError::Channel)? == 0 {
            return Ok(None);
        }
        let order = serde_json::from_str(&line).map_err(|error| MicroError::Channel(error.into()))?;
        let Order::Turn { iterations } = order;
        Ok(Some(iterations))
    }

    pub fn send(&mut self, event: &Event) -> Result<(), MicroError> {
        let mut line = serde_json::to_vec(event).map_err(|error| MicroError::Channel(error.into()))?;
        line.push(b'\n');
        self.out.write_all(&line).and_then(|()| self.out.flush()).map_err(MicroError::Channel)
    }

    /// Sends the buffered samples, then the beginning of `stage`.
    pub fn stage(&mut self, stage: Stage) -> Result<(), MicroError> {
        self.flush()?;
        self.send(&Event::Stage { stage })
    }

    /// Buffers one sample until the stage ends or [`Channel::send_if_due`].
    pub fn record(&mut self, metric: &'static MetricSpec, value: f64) {
        let value = Some(value).filter(|value| value.is_finite());
        match self.pending.iter_mut().find(|(known, _)| known.name == metric.name) {
            Some((_, values)) => values.push(value),
            None => self.pending.push((metric, vec![value])),
        }
    }

    /// Call this between iterations: sends the buffered samples if the last sending was long ago.
    pub fn send_if_due(&mut self) -> Result<(), MicroError> {
        if self.sent.elapsed() >= KEEP_BACK { self.flush() } else { Ok(()) }
    }

    /// Sends one `samples` event per metric.
    fn flush(&mut self) -> Result<(), MicroError> {
        for (metric, values) in std::mem::take(&mut self.pending) {
            let (name, unit, better) = (metric.name.into(), Some(metric.unit.into()), Some(metric.better));
            let gate = (!metric.judged).then_some(false);
            self.send(&Event::Samples { metric: name, values, unit, better, gate })?;
        }
        self.sent = Instant::now();
        Ok(())
    }

    pub fn notes<const N: usize>(&mut self, notes: [(&str, Value); N]) -> Result<(), MicroError> {
        self.metadata(None, None, notes)
    }

    /// Sends the work of one iteration, if it has such a figure, and `notes`.
    pub fn metadata<const N: usize>(
        &mut self,
        bytes: Option<f64>,
        flops: Option<f64>,
        notes: [(&str, Value); N],
    ) -> Result<(), MicroError> {
        let notes = notes.map(|(name, value)| (name.to_owned(), value)).into();
        self.send(&Event::Metadata { items: None, bytes, flops, tokens: None, device: None, notes })
    }

    /// Sends the GPU that does the work, and the amount of work of one iteration.
    pub fn work_on(&mut self, gpu: &str, [items, bytes, flops]: [Option<f64>; 3]) -> Result<(), MicroError> {
        let device = Some(format!("cuda:{gpu}"));
        self.send(&Event::Metadata { items, bytes, flops, tokens: None, device, notes: BTreeMap::new() })
    }

    /// Sends whether the answer is right, with the error and the allowed error. The error is a note: its limit is known here,
    /// so there is nothing to compare later.
    pub fn validation(&mut self, check: &str, error: f64, allowed: f64) -> Result<(), MicroError> {
        let passed = error <= allowed;
        let message = if passed {
            check.to_owned()
        } else {
            format!("{check}: off by {error:e}, where {allowed:e} is allowed")
        };
        self.notes([("error.max_error", error.into())])?;
        self.send(&Event::Validation { passed, message: Some(message), errors: BTreeMap::new() })
    }

    /// The last events. The gate measures the process's memory itself.
    pub fn end(&mut self) -> Result<(), MicroError> {
        self.flush()?;
        self.send(&Event::End {})
    }

    /// Sends the buffered samples, then that this machine cannot run the benchmark.
    pub fn skip(
        &mut self,
        reason: &str,
        lacks: Option<Lack>,
        next: Option<String>,
    ) -> Result<(), MicroError> {
        self.flush()?;
        self.send(&Event::Skip { reason: reason.into(), lacks, next })?;
        self.send(&Event::End {})
    }

    /// Sends the buffered samples, then that they cannot be right.
    pub fn impossible(&mut self, what: String) -> Result<(), MicroError> {
        self.flush()?;
        self.send(&Event::Validation { passed: false, message: Some(what), errors: BTreeMap::new() })?;
        self.send(&Event::End {})
    }

    /// Sends the buffered samples, then the error.
    pub fn error(
        &mut self,
        message: &str,
        kind: Option<&str>,
        next: Option<String>,
    ) -> Result<(), MicroError> {
        self.flush()?;
        self.send(&Event::Error { message: message.into(), kind: kind.map(str::to_owned), trace: None, next })
    }
}

/// The file named by a variable with a descriptor's number, or by one with a path. Opening the descriptor's name yields an
/// owned file without an unsafe claim that no other part of the process owns the number.
fn named(descriptor: &str, path: &str) -> Option<OsString> {
    let name = env::var(descriptor).map(|number| format!("/dev/fd/{number}").into());
    name.ok().or_else(|| env::var_os(path))
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::catalog;
    use crate::workload::request;
    use gbench_model::{Better, Fault};

    /// Records every write separately, to check that a line is one write.
    #[derive(Clone, Default)]
    pub(crate) struct Writes(Rc<RefCell<Vec<Vec<u8>>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Writes {
        pub(crate) fn channel() -> (Self, Channel) {
            let writes = Self::default();
            (writes.clone(), Channel::to(writes))
        }

        pub(crate) fn events(&self) -> Vec<Event> {
            self.0.borrow().iter().map(|line| line::parse(line).unwrap()).collect()
        }
    }

    static SPEED: MetricSpec =
        MetricSpec { name: "speed", unit: "GB/s", better: Better::Higher, threshold: 0.05, judged: true };

    #[test]
    fn samples_leave_together_when_the_stage_ends_and_one_line_is_one_write() {
        let (writes, mut channel) = Writes::channel();
        channel.stage(Stage::Measure).unwrap();
        channel.record(&SPEED, 1.5);
        channel.record(&SPEED, f64::NAN);
        channel.send_if_due().unwrap();
        assert_eq!(writes.events().len(), 1);
        channel.stage(Stage::Verify).unwrap();
        let [_, Event::Samples { metric, values, unit, better, .. }, _] = &writes.events()[..] else {
            panic!("{:?}", writes.events())
        };
        assert_eq!((&metric[..], unit.as_deref(), *better), ("speed", Some("GB/s"), Some(Better::Higher)));
        assert_eq!(values, &[Some(1.5), None]);
    }

    #[test]
    fn a_slow_benchmark_s_samples_leave_before_its_end() {
        let (writes, mut channel) = Writes::channel();
        channel.sent = Instant::now().checked_sub(2 * KEEP_BACK).unwrap();
        for _ in 0..2 {
            channel.record(&SPEED, 1.5);
            channel.send_if_due().unwrap();
            assert_eq!(writes.events().len(), 1);
        }
    }

    #[test]
    fn a_turn_is_asked_for_and_the_end_of_the_file_ends_them() {
        let (writes, channel) = Writes::channel();
        let mut channel = channel.with_turns(&br#"{"turn":{"iterations":5}}"#[..]);
        assert_eq!([channel.turn().unwrap(), channel.turn().unwrap()], [Some(5), None]);
        assert_eq!(writes.0.borrow().concat(), b"{\"event\":\"yield\"}\n".repeat(2));
        let error = Writes::channel().1.turn().unwrap_err();
        assert!(error.to_string().contains("wants turns"), "{error}");
    }

    #[test]
    fn by_hand_the_defaults_hold_and_the_plain_variables_go_above_them() {
        let member = catalog().into_iter().find(|member| member.name == "cpu_flops").unwrap();
        let given = |variables: &[(&str, &str)]| {
            let value = |name: &str| variables.iter().find(|(other, _)| *other == name);
            let request = request(&member, |name| value(name).map(|(_, value)| (*value).into()))?;
            Ok::<_, Fault>((request.iterations, request.params["dtype"].to_string()))
        };
        assert_eq!(given(&[]).unwrap(), (member.defaults.iterations, "f64".into()));
        let set = given(&[("GBENCH_ITERATIONS", "3"), ("GBENCH_PARAM_DTYPE", "f32")]);
        assert_eq!(set.unwrap(), (3, "f32".into()));
        let wrong = given(&[("GBENCH_SEED", "x")]).unwrap_err();
        assert_eq!(wrong.to_string(), "GBENCH_SEED: `x` is not a number (next: unset GBENCH_SEED)");
    }

    #[test]
    fn another_protocol_is_refused() {
        let member = catalog()[0];
        let mut asked = request(&member, |_| None).unwrap();
        asked.protocol = 9;
        let text = serde_json::to_string(&asked).unwrap();
        let fault = request(&member, |name| (name == "GBENCH_REQUEST").then(|| text.clone())).unwrap_err();
        assert!(fault.what.contains("protocol 9"), "{fault}");
    }
}
