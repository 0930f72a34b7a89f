//! What a watch knows of the content of its URIs, to find after a reconnection what changed in the meantime.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::error::ClientError;
use crate::listen::ListeningClient;

/// The hash of the content of each URI, as far as it could be read.
#[derive(Debug, Default)]
pub(super) struct KnownContents(HashMap<String, u64>);

impl KnownContents {
    /// Reads these URIs. Returns those that differ from what was known, or of which nothing is known. Fails if the server
    /// is gone before all are read: then the next comparison has the same to compare with.
    pub(super) async fn compare(
        &mut self,
        listening: &mut ListeningClient,
        uris: &[String],
    ) -> Result<Vec<String>, ClientError> {
        let mut answers = Vec::with_capacity(uris.len());
        for uri in uris {
            let answer = match read(listening, uri).await {
                Err(error) if is_gone(&error) && self.0.contains_key(uri) => return Err(error),
                answer => answer.ok(),
            };
            answers.push(answer);
        }
        let mut differ = Vec::new();
        for (uri, answer) in uris.iter().zip(answers) {
            let before = self.0.get(uri).copied();
            if before.is_none() || answer != before {
                differ.push(uri.clone());
            }
            self.record(uri, answer);
        }
        Ok(differ)
    }

    /// Reads a URI and remembers its content. Whoever is told of a change afterwards reads at least as new content, so that
    /// a later change is found. Without an answer, nothing is known, and the next comparison reports the URI.
    pub(super) async fn read(&mut self, listening: &mut ListeningClient, uri: &str) {
        let answer = read(listening, uri).await.ok();
        self.record(uri, answer);
    }

    fn record(&mut self, uri: &str, answer: Option<u64>) {
        match answer {
            Some(known) => _ = self.0.insert(uri.to_owned(), known),
            None => _ = self.0.remove(uri),
        }
    }
}

/// Returns the hash of the content of a URI, or of the error that the server answers.
async fn read(listening: &mut ListeningClient, uri: &str) -> Result<u64, ClientError> {
    let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
    match listening.request::<Value>("resources/read", params).await {
        Ok(result) => Ok(hash(&result["contents"].to_string())),
        Err(ClientError::Rpc(error)) => Ok(hash(&error.code.to_string())),
        Err(error) => Err(error),
    }
}

/// Whether the server cannot answer any more.
fn is_gone(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable { .. } | ClientError::Closed)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
