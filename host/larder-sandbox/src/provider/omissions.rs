//! What the host omitted from a response of a provider or changed in it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use larder_model::policy::{AppGrant, Grant};
use larder_model::uri::{BadUri, Uri};
use larder_uri_template::{BadUriTemplate, UriTemplate};

/// Maximum number of different reasons.
const MAX_REASONS: usize = 20;

/// What was omitted or changed: reasons, each with its number of occurrences. Secrets are removed from the reasons.
#[derive(Default)]
pub(super) struct Omissions<'a> {
    reasons: BTreeMap<Cow<'static, str>, usize>,
    /// None if nothing is granted.
    grant: Option<&'a Grant>,
}

impl<'a> Omissions<'a> {
    pub(super) fn new(grant: &'a Grant) -> Self {
        Self {
            reasons: BTreeMap::new(),
            grant: Some(grant),
        }
    }

    /// The rights that the pages of apps may have; none if nothing is granted.
    pub(super) fn apps(&self) -> Option<&'a AppGrant> {
        self.grant.map(|grant| &grant.apps)
    }

    /// Counts an omission or a change.
    pub(super) fn add(&mut self, reason: impl Into<Cow<'static, str>>) {
        let mut reason = match reason.into() {
            Cow::Owned(reason) => Cow::Owned(self.clean(&reason).into_owned()),
            // A text of the host.
            reason => reason,
        };
        if self.reasons.len() >= MAX_REASONS && !self.reasons.contains_key(&reason) {
            reason = "other reasons".into();
        }
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// Removes secrets from a text of the provider.
    pub(super) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.grant
            .map_or(Cow::Borrowed(text), |grant| grant.secrets.redact(text))
    }

    /// Parses a URI of the provider. Secrets are removed from the text before the error message is made,
    /// because the message contains only a part of the text.
    pub(super) fn uri(&self, text: &str) -> Result<Uri, BadUri> {
        Uri::parse(text).map_err(|error| error.with_text(&self.clean(text)))
    }

    pub(super) fn uri_template(&self, text: &str) -> Result<UriTemplate, BadUriTemplate> {
        UriTemplate::parse(text).map_err(|error| error.with_text(&self.clean(text)))
    }

    /// Returns the reasons, each with the number of its occurrences.
    pub(super) fn summary(&self) -> Vec<String> {
        self.reasons
            .iter()
            .map(|(why, n)| {
                if *n == 1 {
                    why.to_string()
                } else {
                    format!("{why} ({n} times)")
                }
            })
            .collect()
    }
}
