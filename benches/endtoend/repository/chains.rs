//! Twenty workloads in one program: chains in which every step waits for the one before, so that other work beside them
//! is felt little. How many steps one has is read at run time: more of them are more work by the same machine code.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, name, kind, batch] = arguments.as_slice() else { panic!("chains NAME KIND BATCH") };
    let batch: u32 = batch.parse().expect("a number of calls");
    let steps = steps_of(name);
    let chain = chain_of(kind);
    let path = std::env::var("GBENCH_EVENTS").expect("gbench-ci starts this");
    let mut channel = std::fs::OpenOptions::new().append(true).open(path).expect("the channel opens");
    let mut send = |line: String| channel.write_all(line.as_bytes()).expect("the channel takes a line");

    // A timer's tick and the interruptions of a moment are small beside several calls in a row.
    let call = || {
        let start = Instant::now();
        for _ in 0..batch {
            black_box(chain(black_box(steps)));
        }
        start.elapsed().as_secs_f64() / f64::from(batch)
    };
    send("{\"event\":\"stage\",\"stage\":\"warmup\"}\n".into());
    for _ in 0..number("GBENCH_WARMUP") {
        call();
    }
    send("{\"event\":\"stage\",\"stage\":\"measure\"}\n".into());
    let times: Vec<String> = (0..number("GBENCH_ITERATIONS")).map(|_| call().to_string()).collect();
    send(format!("{{\"event\":\"samples\",\"values\":[{}],\"unit\":\"s\"}}\n", times.join(",")));
    send("{\"event\":\"end\"}\n".into());
}

fn number(name: &str) -> u32 {
    std::env::var(name).expect("gbench-ci starts this").parse().expect("a whole number")
}

fn steps_of(name: &str) -> u64 {
    let work = std::fs::read_to_string("work.txt").expect("work.txt lies here");
    let line = work.lines().find_map(|line| line.split_once(' ').filter(|(first, _)| *first == name));
    line.expect("a line of this name").1.trim().parse().expect("a number of steps")
}

fn chain_of(kind: &str) -> Box<dyn Fn(u64) -> u64> {
    match kind {
        "xorshift" => Box::new(xorshift),
        "congruence" => Box::new(congruence),
        "horner" => Box::new(horner),
        "modulo" => Box::new(modulo),
        "near" => walk(16 << 10),
        "sqrt" => Box::new(sqrt),
        "rotate" => Box::new(rotate),
        "division" => Box::new(division),
        "far" => walk(128 << 10),
        "crc" => crc(),
        _ => panic!("no chain is called {kind}"),
    }
}

/// Shifts and exclusive ors (Marsaglia 2003).
fn xorshift(steps: u64) -> u64 {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15u64);
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// A multiplication and an addition of integers.
fn congruence(steps: u64) -> u64 {
    let (factor, mut state) = black_box((0x5851_f42d_4c95_7f2du64, 1u64));
    for _ in 0..steps {
        state = state.wrapping_mul(factor).wrapping_add(0x1405_7b7e_f767_814f);
    }
    state
}

/// A multiplication and an addition in double precision.
fn horner(steps: u64) -> u64 {
    let (x, mut value) = black_box((0.999_75f64, 1.0f64));
    for _ in 0..steps {
        value = value * x + 0.25;
    }
    value.to_bits()
}

/// Powers modulo a prime: a remainder a step.
fn modulo(steps: u64) -> u64 {
    let (prime, mut power) = black_box((4_294_967_291u64, 3u64));
    for _ in 0..steps {
        power = power * 48_271 % prime;
    }
    power
}

/// A square root in double precision.
fn sqrt(steps: u64) -> u64 {
    let mut value = black_box(2.0f64);
    for _ in 0..steps {
        value = (value + 1.75).sqrt();
    }
    value.to_bits()
}

/// Additions and rotations, as ciphers have them.
fn rotate(steps: u64) -> u64 {
    let (mut a, mut b) = black_box((1u32, 0x6170_7865u32));
    for _ in 0..steps {
        a = a.wrapping_add(b);
        b = (b ^ a).rotate_left(7);
        a = a.wrapping_add(b).rotate_left(13);
        b ^= a;
    }
    u64::from(a) << 32 | u64::from(b)
}

/// A division in double precision.
fn division(steps: u64) -> u64 {
    let mut value = black_box(1.5f64);
    for _ in 0..steps {
        value = 3.0 / (value + 0.5);
    }
    value.to_bits()
}

/// From place to place in memory of so many bytes, on one cycle through all of them (Sattolo 1986).
fn walk(bytes: usize) -> Box<dyn Fn(u64) -> u64> {
    let places = bytes / size_of::<u32>();
    let mut next: Vec<u32> = (0..places as u32).collect();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for last in (1..places).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        next.swap(last, (state % last as u64) as usize);
    }
    Box::new(move |steps| {
        let mut place = black_box(0u32);
        for _ in 0..steps {
            place = next[place as usize];
        }
        u64::from(place)
    })
}

/// A checksum by table, a byte a step.
fn crc() -> Box<dyn Fn(u64) -> u64> {
    let entry = |byte: u32| (0..8).fold(byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
    let table: Vec<u32> = (0..256).map(entry).collect();
    Box::new(move |steps| {
        let mut crc = black_box(u32::MAX);
        for step in 0..steps {
            crc = crc >> 8 ^ table[((crc ^ step as u32) & 0xff) as usize];
        }
        u64::from(crc)
    })
}
