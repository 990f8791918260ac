//! Reads a project's source tree: build files, source code and paths.

pub(crate) mod cargo;
pub(crate) mod cmake;
pub(crate) mod cpp;
pub(crate) mod javascript;
pub(crate) mod paths;
pub(crate) mod python;
pub(crate) mod quoting;
