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
    /// Reads these URIs. Returns those that differ from what was known, or of which nothing is known.
    pub(super) async fn compare(&mut self, listening: &mut ListeningClient, uris: &[String]) -> Vec<String> {
        let mut differ = Vec::new();
        for uri in uris {
            let before = self.0.get(uri).copied();
            self.read(listening, uri).await;
            if before.is_none() || self.0.get(uri).copied() != before {
                differ.push(uri.clone());
            }
        }
        differ
    }

    /// Reads a URI and remembers its content. Whoever is told of a change afterwards reads at least as new content, so that
    /// a later change is found. Without an answer, nothing is known, and the next comparison reports the URI.
    pub(super) async fn read(&mut self, listening: &mut ListeningClient, uri: &str) {
        let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
        let known = match listening.request::<Value>("resources/read", params).await {
            Ok(result) => Some(hash(&result["contents"].to_string())),
            Err(ClientError::Rpc(error)) => Some(hash(&error.code.to_string())),
            Err(_) => None,
        };
        match known {
            Some(known) => _ = self.0.insert(uri.to_owned(), known),
            None => _ = self.0.remove(uri),
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
