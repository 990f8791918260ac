//! Guesses at every fixture: the description of a guess is a file that can be read, and reads the file that it was made of.

use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::*;
use crate::adapters::formats::tests::fixtures;
use crate::adapters::interface::output::OutputFiles;
use crate::adapters::tests::{damaged, damaged_copies};

/// The guess, after what every guess has to fulfil.
fn checked(name: &str, bytes: &[u8]) -> Guess {
    let beside = OutputFiles::default();
    let file = ResultFile { name, bytes, beside: &beside };
    let guess = Guess::of(&file);
    let Some(described) = &guess.described else { return guess };
    let toml = guess.toml(name).unwrap();
    let parsed = Described::parse(&toml).unwrap_or_else(|error| panic!("{name}: {error:?}\n{toml}"));
    assert_eq!(parsed, *described, "{name}\n{toml}");
    let repeats = if guess.repeats { Repeats::Samples } else { Repeats::Refuse };
    let read = read_repeated(&parsed, &file, repeats);
    assert_eq!(read.is_err(), guess.obstacle.is_some(), "{name}: {read:?}\n{toml}");
    guess
}

#[test]
fn every_fixture_with_figures_is_read_by_its_own_guess() {
    for fixture in fixtures().iter().filter(|fixture| !fixture.is_refused()) {
        let guess = checked(&fixture.name(), &fixture.bytes);
        println!(
            "{:50} {:55} {:4} rows, {} metrics {:?} {:?}",
            fixture.name(),
            guess.form,
            guess.rows,
            guess.described.as_ref().map_or(0, |it| it.metrics.len()),
            guess.flags.is_some(),
            guess.obstacle
        );
    }
}

#[test]
fn damaged_files_are_guessed_at_without_panic() {
    let random = &mut Pcg64::seed_from_u64(20_261_127);
    for fixture in fixtures() {
        let is_rows = fixture.bytes.starts_with(b"{")
            || fixture.bytes.starts_with(b"[")
            || fixture.file.ends_with("csv");
        for _ in 0..if is_rows { damaged_copies().div_ceil(40) } else { 2 } {
            checked(&fixture.name(), &damaged(&fixture.bytes, random));
        }
    }
}
