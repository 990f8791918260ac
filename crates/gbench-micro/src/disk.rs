//! `disk_io`: sequential writing and reading, and random reading, bypassing the page cache if the filesystem allows it.
//!
//! The file is unlinked from the start, so that even SIGKILL leaves nothing behind.

use std::env;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Instant;

use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::sys::statfs::{self, FsType, fstatfs};
use nix::sys::statvfs::fstatvfs;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::json;

use super::channel::Channel;
use super::pace::measure;
use super::spec::{Defaults, Doing, MetricSpec, MicroError, allocate};
use super::workload::{Workload, WorkloadRun};
use gbench_model::line::Request;
use gbench_model::{Better, Component};

pub(super) const IO: Workload = Workload {
    name: "disk_io",
    description: "A file of 64 MiB: sequential write and read by 1 MiB, random read by 4 KiB, one at a time",
    components: &[Component::Storage],
    metrics: &METRICS,
    params: &[],
    defaults: Defaults { processes: 5, iterations: 4, warmup: 1 },
    run: WorkloadRun::Host(run),
};

static METRICS: [MetricSpec; 3] = [
    MetricSpec { name: "write", unit: "MB/s", better: Better::Higher, threshold: 0.2, judged: true },
    MetricSpec { name: "read", unit: "MB/s", better: Better::Higher, threshold: 0.3, judged: true },
    MetricSpec { name: "random_read", unit: "IOPS", better: Better::Higher, threshold: 0.2, judged: true },
];

const FILE: usize = 64 << 20;
/// Bytes of one sequential call.
const CHUNK: usize = 1 << 20;
/// Bytes of one random call; also the largest alignment that direct I/O requires anywhere.
const BLOCK: usize = 4 << 10;
/// Random reads per sample.
const READS: usize = 512;

fn run(request: &Request, channel: &mut Channel) -> Result<(), MicroError> {
    // The folder for temporary files, else the run's folder: /tmp is in memory on many systems.
    let folder = env::var_os("TMPDIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let mut disk = Disk::open(folder, request.seed)?;
    channel.notes([
        ("file_bytes", json!(FILE)),
        ("filesystem", json!(disk.filesystem)),
        ("direct", json!(disk.direct)),
        ("page_cache", json!(if disk.direct { "passed by" } else { "dropped before each read" })),
    ])?;
    // The first pass allocates the file's extents.
    disk.write()?;

    measure(request, channel, &METRICS, || {
        let megabytes = FILE as f64 * 1e-6;
        Ok([megabytes / disk.write()?, megabytes / disk.read()?, READS as f64 / disk.random_read()?])
    })?;

    let check = "every block that was read is the one last written there";
    channel.validation(check, disk.wrong_blocks as f64, 0.0)
}

struct Disk {
    file: File,
    direct: bool,
    filesystem: String,
    buffer: Aligned,
    random: Pcg64,
    /// Number of times the file was written, which distinguishes an old block from a new one.
    generation: u64,
    wrong_blocks: usize,
}

impl Disk {
    fn open(folder: PathBuf, seed: u64) -> Result<Self, MicroError> {
        let unnamed = tempfile::tempfile_in(&folder).doing("making a temporary file")?;
        let kind = fstatfs(&unnamed).map_err(io::Error::from).doing("asking for the filesystem")?;
        let filesystem = name_of(kind.filesystem_type());
        if kind.filesystem_type() == statfs::TMPFS_MAGIC {
            return Err(MicroError::Skip(format!(
                "{} lies in memory ({filesystem}); set TMPDIR to a folder on a disk",
                folder.display()
            )));
        }
        let space = fstatvfs(&unnamed).map_err(io::Error::from).doing("asking for free space")?;
        // The types differ between systems.
        #[allow(clippy::useless_conversion)]
        let free = u64::from(space.blocks_available()).saturating_mul(u64::from(space.fragment_size()));
        enough_space(free)?;

        let direct = reopen_directly(&unnamed);
        let mut random = Pcg64::seed_from_u64(seed);
        let mut buffer = Aligned::new(CHUNK)?;
        // Incompressible, and impossible to deduplicate.
        random.fill_bytes(buffer.bytes(CHUNK));
        let is_direct = direct.is_some();
        let file = direct.unwrap_or(unnamed);
        Ok(Self { file, direct: is_direct, filesystem, buffer, random, generation: 0, wrong_blocks: 0 })
    }

    /// Writes the whole file and waits until it is stored; returns seconds.
    fn write(&mut self) -> Result<f64, MicroError> {
        self.generation += 1;
        let begun = Instant::now();
        for offset in (0..FILE).step_by(CHUNK) {
            let bytes = self.buffer.bytes(CHUNK);
            for (index, block) in bytes.chunks_exact_mut(BLOCK).enumerate() {
                stamp(block).copy_from_slice(&mark(self.generation, offset + index * BLOCK));
            }
            self.file.write_all_at(bytes, offset as u64).doing("writing")?;
        }
        self.file.sync_data().doing("waiting for the disk")?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Reads the whole file; returns seconds.
    fn read(&mut self) -> Result<f64, MicroError> {
        self.forget()?;
        let begun = Instant::now();
        for offset in (0..FILE).step_by(CHUNK) {
            self.read_at(offset, CHUNK)?;
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Reads random blocks; returns seconds.
    fn random_read(&mut self) -> Result<f64, MicroError> {
        self.forget()?;
        let offsets: Vec<_> = (0..READS).map(|_| self.random.random_range(0..FILE / BLOCK) * BLOCK).collect();
        let begun = Instant::now();
        for offset in offsets {
            self.read_at(offset, BLOCK)?;
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    fn read_at(&mut self, offset: usize, length: usize) -> Result<(), MicroError> {
        let bytes = self.buffer.bytes(length);
        self.file.read_exact_at(bytes, offset as u64).doing("reading")?;
        for (index, block) in bytes.chunks_exact_mut(BLOCK).enumerate() {
            let right = stamp(block) == mark(self.generation, offset + index * BLOCK);
            self.wrong_blocks += usize::from(!right);
        }
        Ok(())
    }

    /// Drops the file from the page cache if the cache is in use.
    fn forget(&self) -> Result<(), MicroError> {
        if self.direct {
            return Ok(());
        }
        posix_fadvise(&self.file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
            .map_err(io::Error::from)
            .doing("dropping the file from the page cache")
    }
}

fn stamp(block: &mut [u8]) -> &mut [u8] {
    &mut block[..8]
}

/// The first bytes of the block at `offset` after the file was written `generation` times.
fn mark(generation: u64, offset: usize) -> [u8; 8] {
    (generation << 32 | (offset / BLOCK) as u64).to_le_bytes()
}

/// Opens the same file for direct I/O; `None` if the filesystem does not support it.
fn reopen_directly(file: &File) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let direct =
        OpenOptions::new().read(true).write(true).custom_flags(OFlag::O_DIRECT.bits()).open(path).ok()?;
    // Some filesystems accept the flag and refuse the first transfer.
    let mut probe = Aligned::new(BLOCK).ok()?;
    direct.write_all_at(probe.bytes(BLOCK), 0).ok()?;
    Some(direct)
}

fn enough_space(free: u64) -> Result<(), MicroError> {
    let needed = 2 * FILE as u64;
    if free < needed {
        Err(MicroError::Skip(format!(
            "{} MiB of free space are needed, and there are {} MiB; set TMPDIR to a folder with more",
            needed >> 20,
            free >> 20
        )))
    } else {
        Ok(())
    }
}

fn name_of(kind: FsType) -> String {
    let known = [
        (statfs::EXT4_SUPER_MAGIC, "ext4"),
        (statfs::XFS_SUPER_MAGIC, "xfs"),
        (statfs::BTRFS_SUPER_MAGIC, "btrfs"),
        (statfs::TMPFS_MAGIC, "tmpfs"),
        (statfs::OVERLAYFS_SUPER_MAGIC, "overlay"),
        (statfs::NFS_SUPER_MAGIC, "nfs"),
        (statfs::FUSE_SUPER_MAGIC, "fuse"),
    ];
    let name = known.into_iter().find(|(magic, _)| *magic == kind).map(|(_, name)| name.to_owned());
    name.unwrap_or_else(|| format!("{:#x}", kind.0))
}

/// A buffer aligned to a block, as direct I/O requires.
struct Aligned {
    storage: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(length: usize) -> Result<Self, MicroError> {
        let storage = allocate("a buffer", length + BLOCK, 0)?;
        let start = storage.as_ptr().align_offset(BLOCK);
        Ok(Self { storage, start })
    }

    fn bytes(&mut self, length: usize) -> &mut [u8] {
        &mut self.storage[self.start..self.start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_an_old_block_is_noticed() {
        let folder = tempfile::tempdir_in(".").unwrap();
        let mut disk = Disk::open(folder.path().into(), 1).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file must have no name");
        disk.write().unwrap();
        assert!(disk.read().unwrap() > 0.0 && disk.random_read().unwrap() > 0.0);
        assert_eq!(disk.wrong_blocks, 0);
        disk.generation += 1;
        disk.random_read().unwrap();
        assert_eq!(disk.wrong_blocks, READS);
    }

    #[test]
    fn a_full_disk_is_a_skip_that_says_how_much_is_missing() {
        assert!(enough_space(FILE as u64 * 2).is_ok());
        let reason = enough_space(50 << 20).unwrap_err().to_string();
        let needed = "128 MiB of free space are needed, and there are 50 MiB";
        assert_eq!(reason, format!("{needed}; set TMPDIR to a folder with more"));
    }

    #[test]
    fn a_folder_in_memory_is_no_disk() {
        let memory = PathBuf::from("/dev/shm");
        if tempfile::tempfile_in(&memory).is_err() {
            eprintln!("skipped: no /dev/shm");
            return;
        }
        let Err(MicroError::Skip(reason)) = Disk::open(memory, 1) else { panic!("/dev/shm was measured") };
        assert_eq!(reason, "/dev/shm lies in memory (tmpfs); set TMPDIR to a folder on a disk");
    }

    #[test]
    fn buffers_lie_on_a_block_s_boundary() {
        let mut buffer = Aligned::new(BLOCK).unwrap();
        assert_eq!(buffer.bytes(BLOCK).as_ptr() as usize % BLOCK, 0);
    }
}
