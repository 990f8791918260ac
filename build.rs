//! Links debug binaries, which the tests start thousands of times, so that they start in half the time; packs the schemas that the
//! binary prints, which are 0.9 MB as they stand in docs/schema.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).as_deref() == Ok(value);
    // Their 250,000 relocations double the time of a start. Release binaries stay position-independent, for their safety.
    let is_static =
        env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.split(',').any(|it| it == "crt-static"));
    let is_linux = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is("PROFILE", "debug") && is_linux && !is_static {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        println!("cargo:rustc-link-arg-tests=-no-pie");
    }
    if let Err(error) = pack(Path::new("docs/schema")) {
        panic!("docs/schema cannot be packed: {error}");
    }
}

fn pack(schemas: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", schemas.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    for entry in fs::read_dir(schemas)? {
        let path = entry?.path();
        let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|it| it == "json")) else {
            continue;
        };
        let mut packed = DeflateEncoder::new(File::create(out.join(name))?, Compression::best());
        packed.write_all(&fs::read(&path)?)?;
        packed.finish()?;
    }
    Ok(())
}
