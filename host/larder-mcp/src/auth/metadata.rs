//! The protected resource metadata (RFC 9728), which tells clients the authorization server. It is readable
//! without a credential.

use super::Oauth;
use crate::wire::json_writer::object;

/// The name of the metadata below `/.well-known/`.
pub(crate) const NAME: &str = "oauth-protected-resource";

/// Returns the metadata as JSON.
pub(super) fn document(oauth: &Oauth, title: Option<&str>) -> Vec<u8> {
    object(|o| {
        o.text("resource", oauth.audience.as_str());
        o.texts("authorization_servers", [oauth.issuer.as_str()]);
        if !oauth.scopes.is_empty() {
            o.texts("scopes_supported", oauth.scopes.iter().map(String::as_str));
        }
        o.texts("bearer_methods_supported", ["header"]);
        o.optional_text("resource_name", title);
    })
}
