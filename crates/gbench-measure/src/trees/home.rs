//! A separate home for each side: files that programs keep in the user's home must not pass from one side to the other.
//!
//! ```text
//! .gbench/trees/base.cache/home/
//!   .gitconfig -> ~/.gitconfig       links to the entries of the user's home: a sandbox can read through them but not write
//!   .cache/                          the side's own, empty at first; only folders of downloaded models are links
//!   .cargo/                          the side's own, with links to the user's downloaded packages
//! ```
//!
//! The measured program can write here, and could replace a folder by a link. Everything therefore works below descriptors,
//! and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

enum Entry {
    Link,
    /// Nothing: the side makes its own if it needs one.
    Leave,
    /// The side's own folder, filled by a plan.
    Own(&'static Plan),
}

struct Plan {
    named: &'static [(&'static str, Entry)],
    others: Entry,
}

const LINKS: Plan = Plan { named: &[], others: Entry::Link };
/// One folder for each source of packages, and in it one entry for each package.
const LINKS_BY_PLACE: Plan = Plan { named: &[], others: Entry::Own(&LINKS) };
/// Cargo adds packages, and locks the folder for it.
const CARGO: Plan = Plan {
    named: &[
        ("registry", Entry::Own(&REGISTRY)),
        ("git", Entry::Own(&CARGO_GIT)),
        (".package-cache", Entry::Leave),
        (".package-cache-mutate", Entry::Leave),
        (".global-cache", Entry::Leave),
    ],
    others: Entry::Link,
};
const REGISTRY: Plan = Plan {
    named: &[
        ("cache", Entry::Own(&LINKS_BY_PLACE)),
        ("src", Entry::Own(&LINKS_BY_PLACE)),
        ("index", Entry::Own(&Plan { named: &[], others: Entry::Own(&LINKS_BUT_TIMES) })),
    ],
    others: Entry::Leave,
};
/// Cargo works without this file, and without writing to its part of the index.
const LINKS_BUT_TIMES: Plan = Plan { named: &[(".last-updated", Entry::Leave)], others: Entry::Link };
const CARGO_GIT: Plan = Plan {
    named: &[("db", Entry::Own(&LINKS)), ("checkouts", Entry::Own(&LINKS_BY_PLACE))],
    others: Entry::Leave,
};
/// Go reads packages that the user has downloaded as from a proxy; see [`variables`].
const GO: Plan = Plan { named: &[("pkg", Entry::Leave)], others: Entry::Link };
/// Models, which should not be downloaded again for each side.
const CACHE: Plan = Plan {
    named: &[
        ("huggingface", Entry::Link),
        ("torch", Entry::Link),
        ("keras", Entry::Link),
        ("clip", Entry::Link),
        ("whisper", Entry::Link),
        ("modelscope", Entry::Link),
    ],
    others: Entry::Leave,
};
const HOME: Plan = Plan {
    named: &[
        (".cache", Entry::Own(&CACHE)),
        (".cargo", Entry::Own(&CARGO)),
        ("go", Entry::Own(&GO)),
        (".npm", Entry::Leave),
        (".ccache", Entry::Leave),
        (".nv", Entry::Leave),
        (".triton", Entry::Leave),
    ],
    others: Entry::Link,
};

pub(super) const NAME: &str = "home";
/// Variables that move a folder out of the user's home, and its place in the side's home. They are set if the user has set
/// them.
const MOVED: [(&str, &str); 11] = [
    ("CARGO_HOME", ".cargo"),
    ("CARGO_TARGET_DIR", ".cargo-target"),
    ("XDG_CACHE_HOME", ".cache"),
    ("GOPATH", "go"),
    ("GOMODCACHE", "go/pkg/mod"),
    ("GOCACHE", ".cache/go-build"),
    ("npm_config_cache", ".npm"),
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("CCACHE_DIR", ".ccache"),
    ("SCCACHE_DIR", ".cache/sccache"),
];

const FOLDER: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const PRIVATE: Mode = Mode::S_IRWXU;

/// Makes or refreshes the home in a side's folder of caches. `user`: returns the value of a variable of the user. Errors: the
/// disk.
pub(super) fn fill(caches: &Path, user: &dyn Fn(&str) -> Option<OsString>) -> io::Result<()> {
    let caches = File::from(nix::fcntl::open(caches, FOLDER, Mode::empty())?);
    let own = own_folder(&caches, OsStr::new(NAME))?;
    if let Some(home) = user("HOME").map(PathBuf::from).filter(|home| home.is_absolute()) {
        fill_folder(&own, &home, &HOME)?;
    }
    for (variable, plan, name) in [("CARGO_HOME", &CARGO, ".cargo"), ("GOPATH", &GO, "go")] {
        if let Some(moved) = user(variable).map(PathBuf::from).filter(|moved| moved.is_dir()) {
            fill_folder(&own_folder(&own, OsStr::new(name))?, &moved, plan)?;
        }
    }
    Ok(())
}

/// Makes folders in a side's folder of caches, replacing anything else that code of the side has left there. Errors: the disk.
pub(super) fn make_folders(caches: &Path, names: &[&str]) -> io::Result<()> {
    fs::create_dir_all(caches)?;
    let caches = File::from(nix::fcntl::open(caches, FOLDER, Mode::empty())?);
    names.iter().try_for_each(|name| own_folder(&caches, OsStr::new(name)).map(drop))
}

pub(super) fn variables(own: &Path, user: &dyn Fn(&str) -> Option<OsString>) -> Vec<(String, OsString)> {
    let mut variables = vec![("HOME".to_owned(), own.as_os_str().to_owned())];
    let moved = MOVED.into_iter().filter(|(name, _)| user(name).is_some());
    variables.extend(moved.map(|(name, place)| (name.to_owned(), own.join(place).into_os_string())));
    let go = user("GOMODCACHE").map(PathBuf::from).or_else(|| {
        let go = user("GOPATH").map(PathBuf::from).or_else(|| Some(Path::new(&user("HOME")?).join("go")))?;
        Some(go.join("pkg/mod"))
    });
    let downloaded = go.map(|modules| modules.join("cache/download")).filter(|folder| folder.is_dir());
    if let Some(downloaded) = downloaded.filter(|_| user("GOPROXY").is_none()) {
        let mut proxies = OsString::from("file://");
        proxies.push(downloaded);
        proxies.push(",https://proxy.golang.org,direct");
        variables.push(("GOPROXY".to_owned(), proxies));
    }
    variables
}

fn fill_folder(own: &File, real: &Path, plan: &Plan) -> io::Result<()> {
    remove_dead_links(own)?;
    // Unreadable entries do not exist for the side.
    for entry in fs::read_dir(real).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let kind = plan.named.iter().find(|(named, _)| name == *named).map_or(&plan.others, |(_, kind)| kind);
        match kind {
            Entry::Leave => {}
            Entry::Own(plan) if path.is_dir() => fill_folder(&own_folder(own, &name)?, &path, plan)?,
            Entry::Link | Entry::Own(_) => link(own, &name, &path)?,
        }
    }
    Ok(())
}

/// Opens a folder of the side, or creates it, removing anything else in its place.
fn own_folder(own: &File, name: &OsStr) -> io::Result<File> {
    let open = || openat(own, name, FOLDER, Mode::empty());
    match open() {
        Err(Errno::ENOENT) => {}
        // Its owner may restore the permission.
        Err(Errno::EACCES) => {
            fchmodat(own, name, PRIVATE, FchmodatFlags::FollowSymlink)?;
            return Ok(open()?.into());
        }
        Err(Errno::ELOOP | Errno::ENOTDIR) => unlinkat(own, name, UnlinkatFlags::NoRemoveDir)?,
        other => return Ok(other?.into()),
    }
    mkdirat(own, name, PRIVATE)?;
    Ok(open()?.into())
}

/// Links the side's entry to the user's file or folder; an existing entry of the side stays.
fn link(own: &File, name: &OsStr, target: &Path) -> io::Result<()> {
    match symlinkat(target, own, name) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes links to entries that the user has removed since: the side makes its own instead.
fn remove_dead_links(own: &File) -> io::Result<()> {
    let mut listed = Dir::openat(own.as_fd(), ".", FOLDER, Mode::empty())?;
    let names: Vec<_> = listed.iter().filter_map(|entry| Some(entry.ok()?.file_name().to_owned())).collect();
    for name in names {
        if let Ok(target) = readlinkat(own, name.as_c_str())
            && fs::symlink_metadata(&target).is_err()
        {
            unlinkat(own, name.as_c_str(), UnlinkatFlags::NoRemoveDir)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn user(home: &Path) -> impl Fn(&str) -> Option<OsString> {
        move |name| (name == "HOME").then(|| home.as_os_str().to_owned())
    }

    fn home() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let (home, own) = (place.path().join("user"), place.path().join(NAME));
        let files = [
            ".gitconfig",
            ".config/tool/settings",
            ".cache/go-build/object",
            ".cache/huggingface/model",
            ".cargo/bin/cargo",
            ".cargo/registry/cache/place/a-1.0.crate",
            ".cargo/registry/src/place/a-1.0/lib.rs",
            ".cargo/registry/index/place/config.json",
            ".npm/package",
        ];
        for file in files {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), file).unwrap();
        }
        (place, home, own)
    }

    fn is_link(path: PathBuf) -> bool {
        fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
    }

    #[test]
    fn what_the_user_has_is_read_and_what_programs_write_is_the_sides_own() {
        let (place, home, own) = home();
        fill(place.path(), &user(&home)).unwrap();
        for linked in [".gitconfig", ".config", ".cache/huggingface", ".cargo/bin"] {
            assert!(is_link(own.join(linked)), "{linked}");
        }
        for package in ["cache/place/a-1.0.crate", "src/place/a-1.0"] {
            assert!(is_link(own.join(".cargo/registry").join(package)), "{package}");
        }
        for absent in [".cache/go-build", ".npm"] {
            assert!(fs::symlink_metadata(own.join(absent)).is_err(), "{absent}");
        }
        let index = own.join(".cargo/registry/index/place");
        assert!(!is_link(index.clone()) && is_link(index.join("config.json")));

        // The next comparison: the side's own files stay, new packages come, removed ones go.
        fs::write(own.join(".cargo/registry/cache/place/b-1.0.crate"), "the side's").unwrap();
        fs::remove_dir_all(home.join(".config")).unwrap();
        fs::write(home.join(".cargo/registry/cache/place/c-1.0.crate"), "").unwrap();
        fill(place.path(), &user(&home)).unwrap();
        let names =
            ["a", "b", "c"].map(|name| own.join(format!(".cargo/registry/cache/place/{name}-1.0.crate")));
        assert!(names.iter().all(|path| path.is_file()));
        assert!(fs::symlink_metadata(own.join(".config")).is_err());
    }

    #[test]
    fn a_link_in_the_place_of_a_folder_leads_nowhere() {
        let (place, home, own) = home();
        let victim = place.path().join("victim");
        fs::create_dir(&victim).unwrap();
        for name in [".cache", ".cargo"] {
            fs::create_dir_all(&own).unwrap();
            symlink(&victim, own.join(name)).unwrap();
        }
        fill(place.path(), &user(&home)).unwrap();
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
        assert!(own.join(".cargo/registry/cache/place/a-1.0.crate").is_file());
    }

    #[test]
    fn variables_of_the_user_that_move_a_cache_lead_into_the_sides_home() {
        let own = Path::new("/own");
        let user = |name: &str| ["HOME", "CARGO_HOME"].contains(&name).then(|| "/nowhere".into());
        let found = variables(own, &user);
        let value = |name: &str| Some(&found.iter().find(|(known, _)| known == name)?.1);
        assert_eq!(value("HOME").unwrap(), "/own");
        assert_eq!(value("CARGO_HOME").unwrap(), "/own/.cargo");
        assert_eq!(value("GOCACHE"), None);
    }
}
