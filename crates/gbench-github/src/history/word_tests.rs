//! Names of stores, branches, folders and files, by functions of this module alone.

use super::layout::{folders_of, place, run_of_path};
use super::store_address::{Address, is_branch};

pub(crate) fn word(function: &str, text: &str) -> String {
    match function {
        "address" => match text.parse::<Address>() {
            Ok(address) => format!("{address:?}, written {address}"),
            Err(why) => why,
        },
        "branch" => format!("{}, to libgit2 {}", is_branch(text), git2::Branch::name_is_valid(text).unwrap()),
        "folders" => format!("{:?}", folders_of("2026-11", text.split(' '))),
        // `none`, or the last folder and how many files are in it.
        "place" => {
            let last = text.split_once(' ').map(|(folder, files)| (folder, files.parse().unwrap()));
            let run = "20261121T100102.345Z-3f9a2c".parse().unwrap();
            let place = place("2026-11", last, &run);
            assert_eq!(run_of_path(&place), Some(run));
            place
        }
        "run" => format!("{:?}", run_of_path(text)),
        _ => panic!("{function}"),
    }
}
