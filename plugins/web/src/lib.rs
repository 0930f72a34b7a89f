//! Functions that the providers of web APIs share: addresses that no value can leave, credentials, redirects, and HTTP
//! caching as freshness and versions of the contract.

mod base_url;
pub mod caching;
mod client;
mod content;
mod credentials;
mod encoding;
mod page_cache;
mod path_template;

pub use base_url::{BaseUrl, resolve};
pub use client::Client;
pub use content::{content, media_type};
pub use credentials::Credentials;
pub use encoding::{decode, encode_value, is_safe, query};
pub use path_template::PathTemplate;
