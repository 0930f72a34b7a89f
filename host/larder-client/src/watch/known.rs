//! The content of a watch's URIs, which is compared after a reconnection to find changes in the meantime.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::error::ClientError;
use crate::listen::ListeningClient;

/// The hash of the content of each URI that could be read.
#[derive(Debug, Default)]
pub(super) struct KnownContents(HashMap<String, u64>);

impl KnownContents {
    /// Reads these URIs. Returns the URIs whose content differs from the known content or was unknown. Fails if the
    /// server is gone before all URIs are read: then the known content stays the same for the next comparison.
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

    /// Reads a URI and stores the hash of its content. A client that is notified of a change afterwards reads content
    /// that is at least as new, so a later change is found. Without an answer, the content is unknown, and the next
    /// comparison reports the URI.
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

/// Returns the hash of the content of a URI, or of the error that the server returns.
async fn read(listening: &mut ListeningClient, uri: &str) -> Result<u64, ClientError> {
    let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
    match listening.request::<Value>("resources/read", params).await {
        Ok(result) => Ok(hash(&result["contents"].to_string())),
        Err(ClientError::Rpc(error)) => Ok(hash(&error.code.to_string())),
        Err(error) => Err(error),
    }
}

/// Whether the server cannot answer requests any more.
fn is_gone(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable { .. } | ClientError::Closed)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
