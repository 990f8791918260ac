//! Links what the tests start thousands of times so that it starts in half the time.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).as_deref() == Ok(value);
    // An unoptimised binary has 250,000 addresses that the loader would move at each start. What is released is moved, for safety's sake.
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        println!("cargo:rustc-link-arg-tests=-no-pie");
    }
}
