//! Contents that a response holds until they were sent. A large content is not encoded in advance, because its JSON can
//! be six times as large as the content. Its place in the JSON of the response is marked, and the content is encoded
//! when this place is sent.

use std::sync::Arc;

use bytes::Bytes;
use larder_model::resource::{Body, Content, Contents};
use larder_runtime::memory_budget::MemoryCharge;

/// Bodies of at least this size are encoded when they are sent. Smaller bodies are written with the rest of the
/// response.
const LARGE_BODY: usize = 4 << 10;

/// Contents, with the charge for them and the charge for their encoded pieces.
#[derive(Debug)]
pub(crate) struct HeldContents {
    contents: Arc<Contents>,
    charge: MemoryCharge,
    pieces: Arc<MemoryCharge>,
}

/// How bytes become a part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// The contents are JSON.
    Json,
    /// The contents are a text in a JSON string.
    Text,
    /// The contents are a text in a JSON string, in a JSON text that is itself the text of a string.
    TextInText,
    /// The contents are data in a JSON string.
    Base64,
}

/// Places in the JSON of a response.
#[derive(Debug)]
pub(crate) struct BodySlots {
    pub(crate) held: Arc<HeldContents>,
    pub(crate) places: Vec<BodySlot>,
}

/// The place of a body. The body is written before the byte `at` of the JSON.
#[derive(Debug, Clone)]
pub(crate) struct BodySlot {
    pub(crate) at: usize,
    pub(crate) raw: Bytes,
    pub(crate) encoding: Encoding,
}

impl HeldContents {
    /// The bytes of the bodies that are encoded when they are sent.
    pub(crate) fn large_bytes(contents: &[Content]) -> usize {
        contents
            .iter()
            .map(|content| &content.body)
            .filter(|body| is_large(body))
            .map(len)
            .sum()
    }

    /// The bytes of the other bodies. These bodies are held too, and exist in the response as well.
    pub(crate) fn small_bytes(contents: &[Content]) -> usize {
        contents
            .iter()
            .map(|content| &content.body)
            .filter(|body| !is_large(body))
            .map(len)
            .sum()
    }

    pub(crate) fn new(contents: Arc<Contents>, charge: MemoryCharge, pieces: MemoryCharge) -> Self {
        Self {
            contents,
            charge,
            pieces: Arc::new(pieces),
        }
    }

    /// The charge for the contents.
    pub(crate) fn charge(&self) -> &MemoryCharge {
        &self.charge
    }

    /// The charge for the encoded pieces.
    pub(crate) fn pieces(&self) -> &Arc<MemoryCharge> {
        &self.pieces
    }

    /// Whether others also hold the contents.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.contents) > 1
    }
}

impl BodySlots {
    pub(crate) fn new(held: Arc<HeldContents>) -> Self {
        Self {
            held,
            places: Vec::new(),
        }
    }

    /// Adds a place of other JSON. The other JSON becomes a part of this JSON, or a text in this JSON.
    pub(super) fn add_again(&mut self, at: usize, place: &BodySlot, is_text: bool) {
        let encoding = match place.encoding {
            Encoding::Text if is_text => Encoding::TextInText,
            encoding => encoding,
        };
        self.places.push(BodySlot {
            at,
            raw: place.raw.clone(),
            encoding,
        });
    }

    /// Adds a place for a body. Returns false if the body has to be written instead, because it is small or not held.
    pub(crate) fn add(&mut self, at: usize, body: &Body) -> bool {
        let is_same = |content: &Content| std::ptr::eq(&content.body, body);
        let index = is_large(body)
            .then(|| self.held.contents.iter().position(is_same))
            .flatten();
        index.is_some_and(|index| {
            let encoding = match body {
                Body::Text(_) => Encoding::Text,
                Body::Blob(_) => Encoding::Base64,
            };
            let raw = Bytes::from_owner(HeldBody {
                held: self.held.clone(),
                index,
            });
            self.places.push(BodySlot { at, raw, encoding });
            true
        })
    }
}

/// Whether a body of held contents is encoded when it is sent.
pub(crate) fn is_large(body: &Body) -> bool {
    len(body) >= LARGE_BODY
}

fn len(body: &Body) -> usize {
    bytes(body).len()
}

fn bytes(body: &Body) -> &[u8] {
    match body {
        Body::Text(text) => text.as_bytes(),
        Body::Blob(data) => data,
    }
}

/// One of the bodies.
struct HeldBody {
    held: Arc<HeldContents>,
    index: usize,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        self.held
            .contents
            .get(self.index)
            .map_or(&[], |content| bytes(&content.body))
    }
}

#[cfg(test)]
mod tests {
    use larder_model::uri::Uri;

    use super::*;

    #[test]
    fn each_body_is_large_or_small() {
        let content = |length: usize| Content {
            uri: Uri::parse("x:1").unwrap(),
            mime_type: None,
            body: Body::Text("a".repeat(length)),
            metadata: vec![],
        };
        let contents = [content(LARGE_BODY), content(LARGE_BODY - 1), content(10)];
        assert_eq!(HeldContents::large_bytes(&contents), LARGE_BODY);
        assert_eq!(HeldContents::small_bytes(&contents), LARGE_BODY - 1 + 10);
    }
}
