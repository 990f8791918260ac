//! Writes a file so that a reader never sees half of it.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;

use gbench_model::{Fault, Result};

/// The text of an error without the name of the temporary file, which is of no use to a reader. The crate `tempfile` joins the
/// two in one text.
pub fn without_temporary(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" at path \"").next().unwrap_or_default().to_owned()
}

/// Writes a file so that readers see the old one or the new one, complete, even across a crash. Errors: exit code 2, or 5 if
/// the disk is full. A non-file such as a device or a pipe is written to, and not replaced.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        if path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
            return File::options().write(true).open(path)?.write_all(bytes);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // It has no name until it is complete, so a process that is killed meanwhile leaves nothing.
        let unnamed = tempfile::tempfile_in(folder)?;
        fill(&unnamed, bytes)?;
        let name = |to: &Path| link(&unnamed, to);
        match name(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                tempfile::Builder::new().make_in(folder, name)?.persist(path)?;
            }
            // A file system without unnamed files, or no /proc to name them by.
            Err(_) => {
                let named = tempfile::NamedTempFile::new_in(folder)?;
                fill(named.as_file(), bytes)?;
                named.persist(path)?;
            }
        }
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(|error| {
        let what = format!("cannot be written: {}", without_temporary(&error));
        Fault::at_path(path, what, "check that the folder exists, is writable and has space")
            .caused_by(&error)
    })
}

/// Writes a temporary file so that it survives a crash, with the usual permissions of its folder: temporary files are private.
fn fill(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    file.write_all(bytes)?;
    nix::sys::stat::fchmod(file, nix::sys::stat::Mode::from_bits_truncate(0o644))?;
    file.sync_all()
}

/// Names an unnamed file, see `O_TMPFILE` in open(2). Errors: the name exists already.
fn link(file: &File, to: &Path) -> std::io::Result<()> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(AT_FDCWD, from.as_str(), AT_FDCWD, to, AtFlags::AT_SYMLINK_FOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n24_what_is_no_file_is_written_into_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || std::fs::read_to_string(fifo).unwrap())
        };
        write_atomically(&fifo, b"verdict").unwrap();
        assert_eq!(reader.join().unwrap(), "verdict");
        assert!(!fifo.symlink_metadata().unwrap().is_file());
        write_atomically(Path::new("/dev/null"), b"verdict").unwrap();
        assert!(!Path::new("/dev/null").symlink_metadata().unwrap().is_file());
    }

    #[test]
    fn n24_a_file_has_no_name_before_it_is_whole_and_replaces_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let elsewhere = folder.path().join("elsewhere");
        std::fs::write(&elsewhere, "kept").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        for text in ["one", "two"] {
            write_atomically(&path, text.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert!(path.symlink_metadata().unwrap().is_file());
        }
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "kept");
        let unnamed = tempfile::tempfile_in(folder.path()).unwrap();
        fill(&unnamed, b"three").unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "it has no name yet");
        link(&unnamed, &folder.path().join("three")).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("three")).unwrap(), "three");
    }
}
