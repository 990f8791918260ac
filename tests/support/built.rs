//! What tests compile: once for its sources and its options, whichever test process comes first.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The folder with what `build` puts into the folder that it is given. It is kept below the target folder under a name that changes
/// with the content of the `inputs` (files, or folders with all files in them) and with the `options`.
pub fn built(name: &str, inputs: &[&Path], options: &str, build: impl FnOnce(&Path)) -> PathBuf {
    let mut hash = DefaultHasher::new();
    options.hash(&mut hash);
    for input in inputs {
        add(input, &mut hash);
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = place.join(format!("{name}-{:016x}", hash.finish()));
    // Held while one builds: the others wait for it and find the folder.
    let lock = File::create(place.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    if !folder.exists() {
        let new = place.join(format!("{name}.new"));
        let _ = fs::remove_dir_all(&new);
        fs::create_dir_all(&new).unwrap();
        build(&new);
        fs::rename(&new, &folder).unwrap();
    }
    folder
}

fn add(input: &Path, hash: &mut DefaultHasher) {
    if input.is_dir() {
        let entries = fs::read_dir(input).unwrap().map(|entry| entry.unwrap().path());
        let mut paths: Vec<PathBuf> = entries.collect();
        paths.sort();
        paths.iter().for_each(|path| add(path, hash));
    } else {
        input.file_name().hash(hash);
        fs::read(input).unwrap().hash(hash);
    }
}
