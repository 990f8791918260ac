//! `net_bandwidth`: throughput and round-trip time of the loopback interface.
//!
//! Both ends are threads of this process on one processor. The scheduler would let them share a processor in some processes
//! and not in others, where they wake each other across processors, which made whole processes differ by a factor of two.
//! Every call has a time limit, so that a broken network stack causes an error instead of a hang.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::json;

use super::channel::Channel;
use super::pace::measure;
use super::spec::{Defaults, Doing, MetricSpec, MicroError};
use super::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Better, Component};

pub(super) const BANDWIDTH: Workload = Workload {
    name: "net_bandwidth",
    description: "TCP over the loopback interface, both ends on one processor: 32 MiB one way, round trips of 64 bytes",
    components: &[Component::Network],
    metrics: &METRICS,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 20, warmup: 3 },
    run: WorkloadRun::Host(run),
};

static METRICS: [MetricSpec; 2] = [
    MetricSpec { name: "throughput", unit: "Gbit/s", better: Better::Higher, threshold: 0.2, judged: true },
    MetricSpec { name: "round_trip", unit: "µs", better: Better::Lower, threshold: 0.15, judged: true },
];

/// No call on a loopback connection takes this long on a working machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of one call.
const CHUNK: usize = 128 << 10;
/// Bytes per sample of throughput.
const BULK: usize = 32 << 20;
/// Bytes of an echoed message.
const MESSAGE: usize = 64;
/// Messages per sample of latency: a few milliseconds in all.
const MESSAGES: usize = 200;

fn run(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    let mut pattern = vec![0; CHUNK];
    Pcg64::seed_from_u64(request.seed).fill_bytes(&mut pattern);
    let one_processor = stay_here().is_ok();
    let mut line = Line::open(&pattern)?;
    channel.metadata(
        Some(BULK as f64),
        None,
        [
            ("message_bytes", json!(MESSAGE)),
            ("messages_per_sample", json!(MESSAGES)),
            ("one_processor", json!(one_processor)),
        ],
    )?;

    let mut wrong = 0;
    measure(request, channel, &METRICS, || {
        if request.cold {
            // A new connection starts without window, route and buffers.
            let fresh = Line::open(&pattern)?;
            wrong += std::mem::replace(&mut line, fresh).close()?;
        }
        let throughput = line.bulk().doing("sending over the loopback interface")?;
        let round_trip = line.round_trips().doing("exchanging messages over the loopback interface")?;
        Ok([BULK as f64 * 8e-9 / throughput, round_trip / MESSAGES as f64 * 1e6])
    })?;

    wrong += line.close()?;
    channel.validation("what arrived is what was sent", wrong as f64, 0.0)
}

/// Binds this thread, and threads that it starts from now on, to the current processor.
fn stay_here() -> nix::Result<()> {
    let mut here = CpuSet::new();
    here.set(sched_getcpu()?)?;
    sched_setaffinity(Pid::from_raw(0), &here)
}

/// A connection whose other end is a thread, which receives [`BULK`] bytes, answers with one, and then echoes [`MESSAGES`]
/// messages; repeatedly, until it is closed.
struct Line {
    stream: TcpStream,
    server: JoinHandle<io::Result<usize>>,
    pattern: Vec<u8>,
    /// Messages that came back different.
    wrong: usize,
}

impl Line {
    fn open(pattern: &[u8]) -> Result<Self, MicroError> {
        let skip = |error| MicroError::Skip(format!("there is no loopback interface to measure: {error}"));
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).map_err(skip)?;
        let address = listener.local_addr().map_err(skip)?;
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(skip)?;
        let own = stream.local_addr().doing("asking for the connection's address")?;
        let other = loop {
            // The connection is already established, so this cannot wait; but a stranger may have connected first.
            let (other, from) = listener.accept().doing("accepting a connection")?;
            if from == own {
                break other;
            }
        };
        for end in [&stream, &other] {
            end.set_nodelay(true).doing("setting TCP_NODELAY")?;
            end.set_read_timeout(Some(PATIENCE)).doing("setting a time limit")?;
            end.set_write_timeout(Some(PATIENCE)).doing("setting a time limit")?;
        }
        let expected = pattern.to_vec();
        let server =
            thread::Builder::new().spawn(move || serve(other, &expected)).doing("starting a thread")?;
        Ok(Self { stream, server, pattern: pattern.to_vec(), wrong: 0 })
    }

    /// Seconds until the other end has received everything.
    fn bulk(&mut self) -> io::Result<f64> {
        let begun = Instant::now();
        for _ in 0..BULK / CHUNK {
            self.stream.write_all(&self.pattern)?;
        }
        self.stream.read_exact(&mut [0])?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Seconds of all round trips.
    fn round_trips(&mut self) -> io::Result<f64> {
        let mut answer = [0; MESSAGE];
        let begun = Instant::now();
        for message in self.pattern.chunks_exact(MESSAGE).cycle().take(MESSAGES) {
            self.stream.write_all(message)?;
            self.stream.read_exact(&mut answer)?;
            self.wrong += usize::from(answer != message);
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    /// The number of wrong pieces at either end.
    fn close(self) -> Result<usize, MicroError> {
        drop(self.stream);
        match self.server.join() {
            Ok(wrong) => Ok(self.wrong + wrong.doing("serving the loopback connection")?),
            // The thread's own message is on stderr.
            Err(_) => Err(io::Error::other("the thread panicked")).doing("serving the loopback connection"),
        }
    }
}

/// The other end; returns the number of wrong pieces of the bulk.
fn serve(mut stream: TcpStream, pattern: &[u8]) -> io::Result<usize> {
    /// Checking some bytes finds lost, duplicated or moved data, and costs no bandwidth.
    const STEP: usize = 4093;
    let mut buffer = vec![0; CHUNK];
    let mut wrong = 0;
    loop {
        let mut taken = 0;
        while taken < BULK {
            let most = CHUNK.min(BULK - taken);
            let count = match stream.read(&mut buffer[..most])? {
                0 if taken == 0 => return Ok(wrong),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => count,
            };
            for index in (0..count).step_by(STEP) {
                wrong += usize::from(buffer[index] != pattern[(taken + index) % pattern.len()]);
            }
            taken += count;
        }
        stream.write_all(&[1])?;
        let mut message = [0; MESSAGE];
        for _ in 0..MESSAGES {
            stream.read_exact(&mut message)?;
            stream.write_all(&message)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line::open(&(0..CHUNK).map(|index| (index % 251) as u8).collect::<Vec<u8>>()).unwrap()
    }

    #[test]
    fn a_line_carries_bulk_and_messages_and_closes() {
        let mut line = line();
        for _ in 0..2 {
            assert!(line.bulk().unwrap() > 0.0 && line.round_trips().unwrap() > 0.0);
        }
        assert_eq!(line.close().unwrap(), 0);
    }

    #[test]
    fn what_arrives_changed_is_counted() {
        let mut line = line();
        line.pattern.reverse();
        line.bulk().unwrap();
        line.round_trips().unwrap();
        assert!(line.close().unwrap() > 0);
    }
}
