//! Who hands out tokens for this server: the metadata of RFC 9728, which anyone may read.

use super::Oauth;
use crate::endpoint::json::object;

/// The well-known name.
pub(in crate::endpoint) const NAME: &str = "oauth-protected-resource";

/// The document, as JSON.
pub(super) fn document(oauth: &Oauth, title: Option<&str>) -> Vec<u8> {
    object(|o| {
        o.text("resource", oauth.audience.as_str());
        o.texts("authorization_servers", [oauth.issuer.as_str()]);
        if !oauth.scopes.is_empty() {
            o.texts("scopes_supported", oauth.scopes.iter().map(String::as_str));
        }
        o.texts("bearer_methods_supported", ["header"]);
        o.maybe("resource_name", title);
    })
}
