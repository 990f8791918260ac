//! Links debug binaries, which the tests start thousands of times, so that they start in half the time.

use std::env;

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
}
