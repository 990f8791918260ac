//! What runs inside a user's Python: a package of the standard library alone, which imports a benchmark's module, measures it and
//! speaks the child protocol. Its files are part of the binary.

use std::fs;
use std::io;
use std::path::Path;

/// The file that the interpreter is started with, from the folder of [`write`].
pub const START: &str = "start.py";

const FILES: &[(&str, &str)] = &[];

/// Writes the driver's files below a folder. Errors: it cannot be written.
pub fn write(folder: &Path) -> io::Result<()> {
    for (path, text) in FILES {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}
