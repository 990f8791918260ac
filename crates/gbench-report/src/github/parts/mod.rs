//! Parts that several of GitHub's texts share.

pub(crate) mod accepted;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod details;
pub(crate) mod links;
pub(crate) mod machine;
pub(crate) mod recent;
pub(crate) mod reproduce;
