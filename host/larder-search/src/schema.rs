//! The fields of a stored document.

use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
    Value as _,
};

use larder_model::name::ProviderName;
use larder_model::text_index::Document;
use larder_model::uri::Uri;

/// Changes whenever the fields or the splitting into words change. An index of another version is built again.
pub(crate) const VERSION: u32 = 1;
/// The name of the analyzer of titles and texts.
pub(crate) const ANALYZER: &str = "words";

/// Names of the fields whose values are read for all documents at once.
pub(crate) mod name {
    pub(crate) const PROVIDER: &str = "provider";
    pub(crate) const URI: &str = "uri";
    pub(crate) const STATE: &str = "state";
    pub(crate) const BYTES: &str = "bytes";
}

/// The fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// Provider and URI in one field.
    pub(crate) key: Field,
    pub(crate) provider: Field,
    pub(crate) uri: Field,
    pub(crate) state: Field,
    /// The size of the text plus one. 0 if there is no text.
    pub(crate) bytes: Field,
    pub(crate) title: Field,
    pub(crate) text: Field,
}

/// Returns the schema and its fields.
pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(ANALYZER)
        .set_index_option(IndexRecordOption::WithFreqs);
    let words = TextOptions::default()
        .set_indexing_options(indexing)
        .set_stored();
    let column = TextOptions::default().set_fast("raw");
    let fields = Fields {
        key: builder.add_text_field("key", STRING),
        provider: builder.add_text_field(name::PROVIDER, STRING | FAST | STORED),
        uri: builder.add_text_field(name::URI, column.clone() | STORED),
        state: builder.add_text_field(name::STATE, column),
        bytes: builder.add_u64_field(name::BYTES, FAST),
        title: builder.add_text_field("title", words.clone()),
        text: builder.add_text_field("text", words),
    };
    (builder.build(), fields)
}

/// Identifies a document.
pub(crate) fn key(provider: &ProviderName, uri: &Uri) -> String {
    format!("{provider} {uri}")
}

/// The stored data of a found document.
pub(crate) struct StoredDocument {
    pub(crate) provider: ProviderName,
    pub(crate) uri: Uri,
    pub(crate) title: String,
    pub(crate) text: String,
}

impl Fields {
    pub(crate) fn document(&self, document: &Document) -> TantivyDocument {
        let mut fields = TantivyDocument::new();
        fields.add_text(self.key, key(&document.provider, &document.uri));
        fields.add_text(self.provider, document.provider.as_str());
        fields.add_text(self.uri, document.uri.as_str());
        fields.add_text(self.state, &document.state);
        fields.add_u64(
            self.bytes,
            document
                .text
                .as_ref()
                .map_or(0, |text| text.len() as u64 + 1),
        );
        if let Some(text) = &document.text {
            fields.add_text(self.title, &document.title);
            fields.add_text(self.text, text);
        }
        fields
    }

    /// Returns `None` if a field is missing or invalid.
    pub(crate) fn stored(&self, fields: &TantivyDocument) -> Option<StoredDocument> {
        let text = |field| fields.get_first(field).and_then(|value| value.as_str());
        Some(StoredDocument {
            provider: ProviderName::parse(text(self.provider)?).ok()?,
            uri: Uri::parse(text(self.uri)?).ok()?,
            title: text(self.title)?.to_owned(),
            text: text(self.text)?.to_owned(),
        })
    }
}
