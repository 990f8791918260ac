//! Python modules and scripts.

pub(crate) mod layouts;
pub(crate) mod row_scripts;
