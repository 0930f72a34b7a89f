//! What is requested from an authorization server, in either way to sign in.

use super::discovery::ServerMetadata;
use super::token_request::TokenEndpoint;

/// A request of tokens for one resource.
pub(super) struct TokenGrant<'a> {
    pub(super) server: &'a ServerMetadata,
    pub(super) endpoint: TokenEndpoint<'a>,
    pub(super) resource: &'a str,
    pub(super) scopes: &'a [String],
}
