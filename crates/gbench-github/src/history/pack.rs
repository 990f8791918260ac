//! The loose objects of a history as one pack: each published run leaves some ten of them.
//!
//! Objects that no history reaches are the user's and stay, so `git gc` is not run. The pack is made in a separate
//! folder, read back object by object, moved to the other packs, and only then the loose objects go: at every moment each
//! object is there.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::{Error, ObjectType, Odb, Oid, Repository};

/// Fewer loose objects are not worth a file: a folder of many packs is as slow as one of many objects.
const FEWEST: usize = 100;
/// Within the folder of objects; `git prune` removes folders of such names where they were left behind.
const SCRATCH: &str = "tmp_objdir-gbench-ci";

/// The loose objects of a history, and the pack that has them now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedObjects {
    pub objects: usize,
    /// Bytes on the disk that the loose objects took.
    pub loose_bytes: u64,
    /// Bytes of the pack; 0 where none was made.
    pub pack_bytes: u64,
}

/// Packs the loose objects that the commits reach; only counts them in a dry run.
pub(super) fn pack(repository: &Repository, tips: &[Oid], dry_run: bool) -> io::Result<PackedObjects> {
    let objects = repository.commondir().join("objects");
    let loose = loose_objects(&objects)?;
    let wanted = reached(repository, tips, &loose).map_err(io::Error::other)?;
    if wanted.len() < FEWEST {
        return Ok(PackedObjects::default());
    }
    let loose_bytes = wanted.iter().filter_map(|id| place(&objects, *id).metadata().ok());
    let loose_bytes = loose_bytes.map(|found| found.blocks() * 512).sum();
    let counted = PackedObjects { objects: wanted.len(), loose_bytes, pack_bytes: 0 };
    if dry_run {
        return Ok(counted);
    }
    let scratch = objects.join(SCRATCH);
    fs::create_dir_all(&scratch)?;
    let held = File::open(&scratch)?;
    held.try_lock().map_err(|_| io::Error::other("another gbench-ci is at it"))?;
    let made = packed(repository, &wanted, &objects, &scratch);
    fs::remove_dir_all(&scratch)?;
    let pack_bytes = made?;
    for id in wanted {
        match fs::remove_file(place(&objects, id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(PackedObjects { pack_bytes, ..counted })
}

/// Writes the pack with its index and gives its size. It is found under its name only when it was read back, and lasts.
fn packed(repository: &Repository, wanted: &[Oid], objects: &Path, scratch: &Path) -> io::Result<u64> {
    let folder = scratch.join("pack");
    fs::remove_dir_all(&folder).or_else(absent)?;
    fs::create_dir(&folder)?;
    let mut builder = repository.packbuilder().map_err(io::Error::other)?;
    for id in wanted {
        builder.insert_object(*id, None).map_err(io::Error::other)?;
    }
    builder.write(&folder, 0o444).map_err(io::Error::other)?;
    {
        // Sees the new pack alone.
        let alone = Odb::new().map_err(io::Error::other)?;
        let text = scratch.to_str().ok_or_else(|| io::Error::other("its path is not UTF-8"))?;
        alone.add_disk_alternate(text).map_err(io::Error::other)?;
        for id in wanted {
            // libgit2 checks what it reads against its name.
            alone.read(*id).map_err(io::Error::other)?;
        }
    }
    let mut files = fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
    // git looks for a pack by its index: that comes last.
    files.sort_by_key(|file| file.path().extension().is_some_and(|it| it == "idx"));
    let packs = objects.join("pack");
    fs::create_dir_all(&packs)?;
    let mut bytes = 0;
    for file in files {
        File::open(file.path())?.sync_all()?;
        bytes += file.metadata()?.blocks() * 512;
        fs::rename(file.path(), packs.join(file.file_name()))?;
    }
    File::open(packs)?.sync_all()?;
    Ok(bytes)
}

fn absent(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn place(objects: &Path, id: Oid) -> PathBuf {
    let name = id.to_string();
    objects.join(&name[..2]).join(&name[2..])
}

fn loose_objects(objects: &Path) -> io::Result<HashSet<Oid>> {
    let mut found = HashSet::new();
    for folder in fs::read_dir(objects)? {
        let folder = folder?;
        let name = folder.file_name();
        let Some(first) = name.to_str().filter(|name| name.len() == 2) else { continue };
        for file in fs::read_dir(folder.path())?.flatten() {
            let id = file.file_name().to_str().and_then(|rest| Oid::from_str(&format!("{first}{rest}")).ok());
            found.extend(id.filter(|id| file.path() == place(objects, *id)));
        }
    }
    Ok(found)
}

fn reached(repository: &Repository, tips: &[Oid], of: &HashSet<Oid>) -> Result<Vec<Oid>, Error> {
    let mut walk = repository.revwalk()?;
    tips.iter().try_for_each(|tip| walk.push(*tip))?;
    let (mut seen, mut wanted) = (HashSet::new(), Vec::new());
    for commit in walk {
        let commit = commit?;
        wanted.extend(of.contains(&commit).then_some(commit));
        let mut trees = vec![repository.find_commit(commit)?.tree_id()];
        while let Some(tree) = trees.pop() {
            if !seen.insert(tree) {
                continue;
            }
            wanted.extend(of.contains(&tree).then_some(tree));
            for item in &repository.find_tree(tree)? {
                match item.kind() {
                    Some(ObjectType::Tree) => trees.push(item.id()),
                    Some(ObjectType::Blob) if of.contains(&item.id()) && seen.insert(item.id()) => {
                        wanted.push(item.id());
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(wanted)
}
