mod compare_documents;
mod compare_pairing;
mod compare_rule;
mod schema;
mod support;
