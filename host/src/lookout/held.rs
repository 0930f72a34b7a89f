//! What is known of what a URI holds, and whether an answer differs from it.

use crate::name::Digest;
use crate::provider::CallError;
use crate::resource::{Body, Content, Reading};

/// What a URI held when it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Print {
    version: Option<String>,
    digest: Option<Digest>,
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// It holds something.
    Here(Print),
    /// Its provider says that it holds what it held.
    Same,
    /// Nobody has it.
    Gone,
    /// Its provider could not tell.
    Failed,
    /// The house has no time for the question.
    NotNow,
    /// It failed over so many questions at once, and might answer fewer.
    TooMuch,
}

/// What is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Held {
    /// Nothing yet.
    #[default]
    Unknown,
    /// From the beginning on there was only an error.
    Failing,
    /// Nobody has it.
    Gone,
    /// It holds this.
    Print(Print),
}

impl Print {
    pub(super) fn of_version(version: String) -> Self {
        Self { version: Some(version), digest: None }
    }

    /// Metadata is left out: providers put there what differs with every reading.
    pub(super) fn of_reading(reading: Reading) -> Self {
        let contents: String = reading.contents.iter().map(line).collect();
        Self { version: reading.version, digest: Some(Digest::of(contents.as_bytes())) }
    }

    /// A version differs whenever the content does, also from one revision to the next.
    fn differs(&self, other: &Self) -> bool {
        let versions = self.version.as_ref().zip(other.version.as_ref()).map(|(a, b)| a != b);
        let digests = self.digest.zip(other.digest).map(|(a, b)| a != b);
        match (versions, digests) {
            (None, None) => true,
            (versions, digests) => versions == Some(true) || digests == Some(true),
        }
    }
}

fn line(Content { uri, mime_type, body, metadata: _ }: &Content) -> String {
    let (kind, bytes) = match body {
        Body::Text(text) => ("text", text.as_bytes()),
        Body::Blob(blob) => ("blob", blob.as_slice()),
    };
    format!("{uri} {mime_type:?} {kind} {}\n", Digest::of(bytes))
}

impl Answer {
    pub(super) fn of_error(error: &CallError) -> Self {
        match error {
            CallError::NotModified => Self::Same,
            CallError::NotFound => Self::Gone,
            CallError::Busy | CallError::UsedUp(_) => Self::NotNow,
            _ => Self::Failed,
        }
    }

    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed)
    }
}

impl Held {
    /// The version of which a provider may say that it is still the current one.
    pub(super) fn version(&self) -> Option<String> {
        match self {
            Self::Print(print) => print.version.clone(),
            _ => None,
        }
    }

    /// Takes an answer in, and says whether those who watch have to hear of it.
    pub(super) fn take(&mut self, answer: Answer) -> bool {
        let next = match answer {
            Answer::Same | Answer::NotNow | Answer::TooMuch => return false,
            // What is known stays: it is compared with the next answer.
            Answer::Failed if *self != Self::Unknown => return false,
            Answer::Failed => Self::Failing,
            Answer::Gone => Self::Gone,
            Answer::Here(print) => Self::Print(print),
        };
        let news = match (&*self, &next) {
            (Self::Unknown, _) => false,
            (Self::Print(old), Self::Print(new)) => old.differs(new),
            (old, new) => old != new,
        };
        if let (false, Self::Print(old), Self::Print(new)) = (news, &mut *self, &next) {
            // What this answer did not say is known from the one before.
            old.version = new.version.clone().or(old.version.take());
            old.digest = new.digest.or(old.digest);
            return false;
        }
        *self = next;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::UsedUp;

    fn print(version: &str, content: &str) -> Answer {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let digest = some(content).map(|content| Digest::of(content.as_bytes()));
        Answer::Here(Print { version: some(version), digest })
    }

    #[test]
    fn only_what_differs_is_news() {
        let check = |answers: &[Answer], expected: &[bool]| {
            let mut held = Held::default();
            let news: Vec<bool> = answers.iter().map(|answer| held.take(answer.clone())).collect();
            assert_eq!(news, expected, "{answers:?}");
        };
        check(&[print("1", ""), print("1", ""), print("2", "")], &[false, false, true]);
        check(&[print("", "a"), print("", "a"), print("", "b")], &[false, false, true]);
        // A version that a provider forgot to raise hides nothing from a reading.
        check(&[print("1", "a"), print("1", "b")], &[false, true]);
        check(&[print("1", "a"), print("1", ""), print("", "a"), print("1", "a")], &[false; 4]);
        // Nothing in common: there may be a difference.
        check(&[print("1", ""), print("", "a")], &[false, true]);
        check(&[print("1", ""), Answer::Gone, Answer::Gone, print("1", "")], &[false, true, false, true]);
        check(&[print("1", ""), Answer::Failed, Answer::Same, Answer::NotNow, print("1", "")], &[false; 5]);
        check(
            &[Answer::NotNow, Answer::Failed, Answer::Failed, print("1", "")],
            &[false, false, false, true],
        );
        check(&[Answer::Gone, print("1", "")], &[false, true]);
    }

    #[test]
    fn what_was_not_asked_tells_nothing() {
        let used_up = UsedUp { what: "calls", retry: std::time::Duration::from_secs(1) };
        for error in [CallError::Busy, CallError::UsedUp(used_up)] {
            let mut held = Held::default();
            assert!(!held.take(Answer::of_error(&error)) && held == Held::Unknown, "{error}");
            // The first answer is no news, and the next one is.
            assert!(!held.take(print("1", "")) && held.take(print("2", "")), "{error}");
        }
    }

    #[test]
    fn a_reading_is_known_by_its_contents() {
        let print = |body: Body, mime: &str| {
            let uri = crate::uri::Uri::parse("x:y").unwrap();
            let content = Content { uri, mime_type: Some(mime.into()), body, metadata: vec![] };
            let freshness = crate::resource::Freshness::UNKNOWN;
            Print::of_reading(Reading {
                contents: std::sync::Arc::new([content].into_iter().collect()),
                version: None,
                freshness,
                kept: false,
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
