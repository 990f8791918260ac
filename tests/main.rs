mod compare_documents;
mod compare_rule;
mod support;
