mod errors;
mod listing;
mod suite_file;
