//! The tests that go through the public door. One binary, so that the project links once.

mod report;
mod runner;
mod support;
