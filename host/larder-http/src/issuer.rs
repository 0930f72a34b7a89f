//! Where an authorization server publishes its metadata.

/// Returns the well-known URL of this name: the name is inserted between host and path, as in RFC 8414 and RFC 9728.
pub fn well_known(url: &str, name: &str) -> String {
    let start = url.find("://").map_or(0, |at| at.saturating_add(3));
    let end = url[start..]
        .find('/')
        .map_or(url.len(), |at| start.saturating_add(at));
    let (origin, path) = url.split_at(end);
    format!("{origin}/.well-known/{name}{}", path.trim_end_matches('/'))
}

/// Returns the URLs of the metadata of an issuer, in the order in which they are tried: RFC 8414, then OpenID Connect
/// Discovery in both forms of its URL.
pub fn metadata_urls(issuer: &str) -> Vec<String> {
    let openid = "openid-configuration";
    let mut urls = vec![
        well_known(issuer, "oauth-authorization-server"),
        well_known(issuer, openid),
        format!("{}/.well-known/{openid}", issuer.trim_end_matches('/')),
    ];
    urls.dedup();
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_the_well_known_name_before_the_path() {
        let at = |url: &str| well_known(url, "x");
        assert_eq!(at("https://a.example"), "https://a.example/.well-known/x");
        assert_eq!(at("https://a.example/"), "https://a.example/.well-known/x");
        assert_eq!(
            at("https://a.example:8443/t/1"),
            "https://a.example:8443/.well-known/x/t/1"
        );
    }

    #[test]
    fn metadata_has_up_to_three_urls() {
        assert_eq!(
            metadata_urls("https://a.example/t/"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t",
                "https://a.example/.well-known/openid-configuration/t",
                "https://a.example/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            metadata_urls("https://a.example"),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration",
            ]
        );
    }
}
