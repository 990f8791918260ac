//! Before anything is measured: a first suite file, what it contains, the settings in force, what the machine can do.

pub(super) mod config;
pub(super) mod demo;
pub(super) mod describe;
pub(super) mod discover;
pub(super) mod doctor;
pub(super) mod init;
pub(super) mod list;
