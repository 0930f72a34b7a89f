//! What is known about the content of a URI, and whether an answer differs from it.

use crate::catalog::{ContentFingerprint, ContentState};
use larder_model::name::Digest;
use larder_model::resource::{Body, Content, ReadResult};
use larder_provider::CallError;

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The URI has content.
    Present(ContentFingerprint),
    /// The provider says that the content is unchanged.
    Unchanged,
    /// No provider has the URI.
    Missing,
    /// The provider failed.
    Failed,
    /// The server has no capacity for the check now.
    Deferred,
    /// The provider failed for a batch of this size, and might answer a smaller batch.
    BatchTooLarge,
}

/// What is known about the content of a URI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum KnownContent {
    /// Nothing yet.
    #[default]
    Unknown,
    /// All answers so far were errors.
    Failing,
    /// No provider has the URI.
    Missing,
    /// The content.
    Present(ContentFingerprint),
}

impl ContentFingerprint {
    pub(super) fn of_version(version: String) -> Self {
        Self {
            version: Some(version),
            digest: None,
        }
    }

    /// Omits the metadata, which some providers change with every read.
    pub(super) fn of_read_result(result: ReadResult) -> Self {
        let contents: String = result.contents.iter().map(canonical_line).collect();
        Self {
            version: result.version,
            digest: Some(Digest::of(contents.as_bytes())),
        }
    }
}

fn canonical_line(
    Content {
        uri,
        mime_type,
        body,
        metadata: _,
    }: &Content,
) -> String {
    let (kind, bytes) = match body {
        Body::Text(text) => ("text", text.as_bytes()),
        Body::Blob(blob) => ("blob", blob.as_slice()),
    };
    format!("{uri} {mime_type:?} {kind} {}\n", Digest::of(bytes))
}

impl Answer {
    pub(super) fn of_error(error: &CallError) -> Self {
        match error {
            CallError::NotModified => Self::Unchanged,
            CallError::NotFound => Self::Missing,
            CallError::Busy | CallError::NoMemory | CallError::QuotaExceeded(_) => Self::Deferred,
            _ => Self::Failed,
        }
    }

    /// Whether this is the first answer from which something is known.
    pub(super) fn is_first_knowledge(&self) -> bool {
        !matches!(self, Self::Unchanged | Self::Deferred | Self::BatchTooLarge)
    }

    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed)
    }
}

impl KnownContent {
    /// Returns the content that a check found; `None` if no check has found anything yet.
    pub(super) fn state(&self) -> Option<ContentState> {
        match self {
            Self::Unknown | Self::Failing => None,
            Self::Missing => Some(ContentState::Missing),
            Self::Present(fingerprint) => Some(ContentState::Present(fingerprint.clone())),
        }
    }

    /// Returns whether the current content may differ from this state.
    pub(super) fn differs(&self, state: &ContentState) -> bool {
        match (self, state) {
            (Self::Missing, ContentState::Missing) => false,
            (Self::Present(known), ContentState::Present(other)) => known.differs(other),
            _ => true,
        }
    }

    /// Returns the version for which the provider may answer "not modified".
    pub(super) fn version(&self) -> Option<String> {
        match self {
            Self::Present(fingerprint) => fingerprint.version.clone(),
            _ => None,
        }
    }

    /// Records an answer. Returns whether the watchers must be notified.
    pub(super) fn update(&mut self, answer: Answer) -> bool {
        let next = match answer {
            Answer::Unchanged | Answer::Deferred | Answer::BatchTooLarge => return false,
            // Known content stays, and the next answer is compared with it.
            Answer::Failed if *self != Self::Unknown => return false,
            Answer::Failed => Self::Failing,
            Answer::Missing => Self::Missing,
            Answer::Present(fingerprint) => Self::Present(fingerprint),
        };
        let changed = self.is_changed_by(&next);
        if let (false, Self::Present(old), Self::Present(new)) = (changed, &mut *self, &next) {
            // Takes what this answer does not contain from the previous answer.
            old.version = new.version.clone().or(old.version.take());
            old.digest = new.digest.or(old.digest);
            return false;
        }
        *self = next;
        changed
    }

    fn is_changed_by(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::Unknown, _) => false,
            (Self::Present(old), Self::Present(new)) => old.differs(new),
            (old, new) => old != new,
        }
    }
}

impl From<ContentState> for KnownContent {
    fn from(state: ContentState) -> Self {
        match state {
            ContentState::Missing => Self::Missing,
            ContentState::Present(fingerprint) => Self::Present(fingerprint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::policy::QuotaExceeded;

    fn print(version: &str, content: &str) -> Answer {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let digest = some(content).map(|content| Digest::of(content.as_bytes()));
        Answer::Present(ContentFingerprint {
            version: some(version),
            digest,
        })
    }

    #[test]
    fn reports_only_changed_content() {
        let check = |answers: &[Answer], expected: &[bool]| {
            let mut known = KnownContent::default();
            let changes: Vec<bool> = answers
                .iter()
                .map(|answer| known.update(answer.clone()))
                .collect();
            assert_eq!(changes, expected, "{answers:?}");
        };
        check(
            &[print("1", ""), print("1", ""), print("2", "")],
            &[false, false, true],
        );
        check(
            &[print("", "a"), print("", "a"), print("", "b")],
            &[false, false, true],
        );
        // A read detects a change although the provider did not change the version.
        check(&[print("1", "a"), print("1", "b")], &[false, true]);
        check(
            &[
                print("1", "a"),
                print("1", ""),
                print("", "a"),
                print("1", "a"),
            ],
            &[false; 4],
        );
        // The two answers have nothing to compare, so the content may differ.
        check(&[print("1", ""), print("", "a")], &[false, true]);
        check(
            &[
                print("1", ""),
                Answer::Missing,
                Answer::Missing,
                print("1", ""),
            ],
            &[false, true, false, true],
        );
        check(
            &[
                print("1", ""),
                Answer::Failed,
                Answer::Unchanged,
                Answer::Deferred,
                print("1", ""),
            ],
            &[false; 5],
        );
        check(
            &[
                Answer::Deferred,
                Answer::Failed,
                Answer::Failed,
                print("1", ""),
            ],
            &[false, false, false, true],
        );
        check(&[Answer::Missing, print("1", "")], &[false, true]);
    }

    #[test]
    fn a_deferred_check_changes_nothing() {
        let used_up = QuotaExceeded {
            what: "calls",
            retry: std::time::Duration::from_secs(1),
        };
        for error in [
            CallError::Busy,
            CallError::NoMemory,
            CallError::QuotaExceeded(used_up),
        ] {
            let mut known = KnownContent::default();
            assert!(
                !known.update(Answer::of_error(&error)) && known == KnownContent::Unknown,
                "{error}"
            );
            // The first answer is not a change; the next answer is a change.
            assert!(
                !known.update(print("1", "")) && known.update(print("2", "")),
                "{error}"
            );
        }
    }

    #[test]
    fn the_fingerprint_covers_text_type_and_kind() {
        let print = |body: Body, mime: &str| {
            let uri = larder_model::uri::Uri::parse("x:y").unwrap();
            let content = Content {
                uri,
                mime_type: Some(mime.into()),
                body,
                metadata: vec![],
            };
            let freshness = larder_model::resource::Freshness::UNKNOWN;
            ContentFingerprint::of_read_result(ReadResult {
                contents: std::sync::Arc::new([content].into_iter().collect()),
                version: None,
                freshness,
                shared: false,
            })
        };
        let text = |text: &str| Body::Text(text.into());
        assert!(!print(text("a"), "text/plain").differs(&print(text("a"), "text/plain")));
        for other in [
            print(text("b"), "text/plain"),
            print(text("a"), "text/html"),
            print(Body::Blob(b"a".into()), "text/plain"),
        ] {
            assert!(print(text("a"), "text/plain").differs(&other));
        }
    }
}
