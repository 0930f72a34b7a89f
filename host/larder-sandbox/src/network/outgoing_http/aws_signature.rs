//! Signatures of requests (AWS Signature Version 4), in the header `authorization`. The secret never leaves the host.

use std::time::SystemTime;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::HeaderMap;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use reqwest::{Request, Url};
use sha2::Sha256;

use larder_model::name::Digest;
use larder_model::policy::AwsSigner;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The digest of a body that is not known when the request is signed.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
const DIGEST_HEADER: &str = "x-amz-content-sha256";
const DATE_HEADER: &str = "x-amz-date";
/// All characters that are encoded in a signed text.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A key with the name of its owner, and the scope of its signatures.
pub(super) struct AwsKey<'a> {
    pub(super) signer: &'a AwsSigner,
    pub(super) secret: &'a str,
    pub(super) session_token: Option<&'a str>,
}

/// The headers that are signed, in the form in which they are signed.
struct SignedHeaders {
    names: String,
    lines: String,
}

impl AwsKey<'_> {
    /// The headers that a request needs before it is signed.
    pub(super) fn headers(
        &self,
        request: &Request,
        now: SystemTime,
    ) -> Result<Vec<(&'static str, String)>, String> {
        let mut headers = vec![(DATE_HEADER, timestamp(now))];
        let digest = body_digest(request)?;
        // Other services expect the digest of the body only in the signature.
        if self.is_for_s3() || digest == UNSIGNED {
            headers.push((DIGEST_HEADER, digest));
        }
        if let Some(token) = self.session_token {
            headers.push(("x-amz-security-token", token.to_owned()));
        }
        Ok(headers)
    }

    /// Returns the value of the header `authorization` for a request that has the other headers.
    pub(super) fn sign(&self, request: &Request) -> String {
        let time = request.headers().get(DATE_HEADER);
        let time = time.and_then(|time| time.to_str().ok()).unwrap_or_default();
        let date = time.get(..8).unwrap_or_default();
        let AwsSigner {
            region,
            service,
            access_key_id,
            ..
        } = self.signer;
        let scope = format!("{date}/{region}/{service}/aws4_request");
        let headers = SignedHeaders::of(request);
        let digest = Digest::of(self.canonical_request(request, &headers).as_bytes());
        let text = format!("{ALGORITHM}\n{time}\n{scope}\n{digest}");
        let signature = Digest::from_bytes(mac(&self.signing_key(date), &text));
        let names = headers.names;
        format!(
            "{ALGORITHM} Credential={access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
    }

    /// The key for one day.
    fn signing_key(&self, date: &str) -> [u8; 32] {
        let key = mac(format!("AWS4{}", self.secret).as_bytes(), date);
        let key = mac(&key, &self.signer.region);
        let key = mac(&key, &self.signer.service);
        mac(&key, "aws4_request")
    }

    fn canonical_request(&self, request: &Request, headers: &SignedHeaders) -> String {
        let url = request.url();
        // `headers` has already refused a body without a digest.
        let digest = body_digest(request).unwrap_or_default();
        [
            request.method().as_str(),
            &self.canonical_path(url),
            &canonical_query(url),
            &headers.lines,
            &headers.names,
            &digest,
        ]
        .join("\n")
    }

    /// S3 encodes a path once. Other services encode it again as it was sent.
    fn canonical_path(&self, url: &Url) -> String {
        let encode = |segment: &str| {
            if self.is_for_s3() {
                let decoded: Vec<_> = percent_decode_str(segment).collect();
                return percent_encode(&decoded, ENCODED).to_string();
            }
            encoded(segment)
        };
        let segments: Vec<_> = url.path().split('/').map(encode).collect();
        segments.join("/")
    }

    fn is_for_s3(&self) -> bool {
        self.signer.service.starts_with("s3")
    }
}

impl SignedHeaders {
    /// The host, the type of the body, and all headers of AWS. Others may be changed by proxies.
    fn of(request: &Request) -> Self {
        let all = request.headers();
        let is_signed = |name: &&str| *name == "content-type" || name.starts_with("x-amz-");
        let names = all.keys().map(http::HeaderName::as_str);
        let mut names: Vec<_> = names.filter(is_signed).collect();
        names.push("host");
        names.sort_unstable();
        let line = |name: &&str| match *name {
            "host" => format!("host:{}\n", host(request.url())),
            name => format!("{name}:{}\n", header_text(all, name)),
        };
        Self {
            lines: names.iter().map(line).collect(),
            names: names.join(";"),
        }
    }
}

/// The host as the HTTP client sends it.
fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The values of a header, without repeated spaces.
fn header_text(headers: &HeaderMap, name: &str) -> String {
    let values = headers.get_all(name).iter().map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    });
    values.collect::<Vec<_>>().join(",")
}

fn canonical_query(url: &Url) -> String {
    let pairs = url.query_pairs();
    let mut pairs: Vec<_> = pairs
        .map(|(name, value)| (encoded(&name), encoded(&value)))
        .collect();
    pairs.sort_unstable();
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join("&")
}

/// Returns the digest of the body. A body that is sent while it arrives has none. Without TLS, it could be replaced.
fn body_digest(request: &Request) -> Result<String, String> {
    match request.body().map(reqwest::Body::as_bytes) {
        None => Ok(Digest::of(b"").to_string()),
        Some(Some(bytes)) => Ok(Digest::of(bytes).to_string()),
        Some(None) if request.url().scheme() == "https" => Ok(UNSIGNED.to_owned()),
        Some(None) => Err("a streamed body can be signed only over TLS: use https".into()),
    }
}

/// Formats a time like `20150830T123600Z`.
fn timestamp(now: SystemTime) -> String {
    let text = humantime::format_rfc3339_seconds(now).to_string();
    text.replace(['-', ':'], "")
}

fn encoded(text: &str) -> String {
    percent_encode(text.as_bytes(), ENCODED).to_string()
}

fn mac(key: &[u8], text: &str) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests;
