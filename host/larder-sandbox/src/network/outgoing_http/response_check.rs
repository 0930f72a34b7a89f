//! What happens with the response to a request that contains a secret: the secret is removed from headers and error
//! texts, and a body that contains it is refused.

use std::sync::Arc;

use http::StatusCode;

use super::body_check::{BodyCheck, SecretInResponse};
use super::secret_forms::SecretForms;
use super::use_record::{PendingUse, UseRecord};
use super::{RequestError, ResponseResult};
use larder_runtime::metrics::CredentialOutcome;

/// Checks the response to one request.
pub(super) struct ResponseCheck {
    pub(super) forms: SecretForms,
    pub(super) pending: PendingUse,
}

impl ResponseCheck {
    /// Records how the request ended, and removes the secret from its result.
    pub(super) fn apply(self, result: ResponseResult) -> ResponseResult {
        let record = self.pending.end(outcome(&result));
        match result {
            Ok(response) => Ok(checked(response, self.forms, record)),
            Err(error) => Err(redacted(error, &self.forms)),
        }
    }
}

fn checked(
    response: http::Response<reqwest::Body>,
    forms: SecretForms,
    record: Arc<UseRecord>,
) -> http::Response<reqwest::Body> {
    let (mut parts, body) = response.into_parts();
    forms.redact_headers(&mut parts.headers);
    let on_secret = move || {
        record.add(CredentialOutcome::Echoed);
        SecretInResponse(record.secret().to_owned())
    };
    let body = BodyCheck::new(body, Arc::new(forms), on_secret).into_body();
    http::Response::from_parts(parts, body)
}

fn redacted(error: RequestError, forms: &SecretForms) -> RequestError {
    match error {
        RequestError::Denied(why) => RequestError::Denied(forms.redact_text(why)),
        RequestError::Unreachable(why) => RequestError::Unreachable(forms.redact_text(why)),
        other => other,
    }
}

fn outcome(result: &ResponseResult) -> CredentialOutcome {
    match result {
        Ok(response) if is_rejection(response.status()) => CredentialOutcome::Rejected,
        Ok(_) => CredentialOutcome::Ok,
        Err(error) => error_outcome(error),
    }
}

/// How a request without a response ended.
pub(super) fn error_outcome(error: &RequestError) -> CredentialOutcome {
    match error {
        RequestError::Denied(_) => CredentialOutcome::Denied,
        RequestError::TimedOut => CredentialOutcome::Timeout,
        _ => CredentialOutcome::Failed,
    }
}

fn is_rejection(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redacts_error_texts() {
        let forms = SecretForms::new("hush-hush-hush", "hush-hush-hush");
        let error = RequestError::Unreachable("no route for ?key=hush-hush-hush".into());
        assert_eq!(
            redacted(error, &forms),
            RequestError::Unreachable("no route for ?key=[secret]".into())
        );
    }
}
