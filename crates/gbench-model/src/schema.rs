//! The JSON Schemas of documents. Those of the documents that users get are kept in `docs/schema`, and `tests/schema.rs` says which is whose.

use schemars::{JsonSchema, SchemaGenerator};

pub trait Documented: JsonSchema + Sized {
    /// The JSON Schema of such a document.
    fn schema() -> serde_json::Value {
        SchemaGenerator::default().into_root_schema_for::<Self>().into()
    }
}

impl<T: JsonSchema> Documented for T {}
