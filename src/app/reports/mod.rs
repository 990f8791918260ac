//! Documents about stored results: verdict files, explanations, exports, the site.

pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod manifests;
pub(crate) mod replay;
pub(crate) mod site;
pub(crate) mod verdict_files;
