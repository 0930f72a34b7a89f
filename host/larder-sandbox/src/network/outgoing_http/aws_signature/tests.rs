//! The expected signatures are from the documentation of AWS and from its SDK for Python.

use std::time::Duration;

use super::*;

/// 2015-08-30T12:36:00Z.
const NOW: Duration = Duration::from_secs(1_440_938_160);

fn signer(service: &str) -> AwsSigner {
    AwsSigner {
        region: "us-east-1".into(),
        service: service.into(),
        access_key_id: "AKIDEXAMPLE".into(),
        session_token: None,
    }
}

fn key<'a>(signer: &'a AwsSigner, session_token: Option<&'a str>) -> AwsKey<'a> {
    AwsKey {
        signer,
        secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        session_token,
    }
}

fn request(method: http::Method, url: &str) -> Request {
    Request::new(method, Url::parse(url).unwrap())
}

fn add(request: &mut Request, name: &'static str, value: &str) {
    request.headers_mut().insert(name, value.parse().unwrap());
}

/// Returns the headers that are signed, and the signature.
fn signed(key: &AwsKey<'_>, mut request: Request) -> (String, String) {
    let now = SystemTime::UNIX_EPOCH + NOW;
    for (name, value) in key.headers(&request, now).unwrap() {
        add(&mut request, name, &value);
    }
    let header = key.sign(&request);
    let (rest, signature) = header.split_once(", Signature=").unwrap();
    let (_, names) = rest.split_once(", SignedHeaders=").unwrap();
    (names.to_owned(), signature.to_owned())
}

#[test]
fn signs_like_the_documentation() {
    let url = "https://iam.amazonaws.com/?Version=2010-05-08&Action=ListUsers";
    let mut request = request(http::Method::GET, url);
    let form = "application/x-www-form-urlencoded; charset=utf-8";
    add(&mut request, "content-type", form);
    let (names, signature) = signed(&key(&signer("iam"), None), request);
    assert_eq!(names, "content-type;host;x-amz-date");
    assert_eq!(
        signature,
        "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"
    );
}

#[test]
fn encodes_the_path_of_s3_once() {
    let url = "https://b.example/my%20key/%C3%A4%2Bx/x?list-type=2&prefix=docs%2Fa+b&delimiter=%2F";
    let request = request(http::Method::GET, url);
    let (names, signature) = signed(&key(&signer("s3"), None), request);
    assert_eq!(names, "host;x-amz-content-sha256;x-amz-date");
    assert_eq!(
        signature,
        "c3e34fc72eb84bf2a728e74c3067d9a4dd32b9dd4ccfa50f5de78c0638dc13ca"
    );
}

#[test]
fn signs_bodies_ports_tokens_and_paths_of_other_services() {
    let url = "https://api.example:8443/a%20b/c(d)?z=1&a=%C3%A4";
    let mut request = request(http::Method::POST, url);
    add(&mut request, "content-type", "application/json");
    add(&mut request, "x-amz-target", "Some   Target");
    *request.body_mut() = Some(r#"{"a":1}"#.into());
    let signer = signer("execute-api");
    let (names, signature) = signed(&key(&signer, Some("session-token")), request);
    assert_eq!(
        names,
        "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
    );
    assert_eq!(
        signature,
        "b509b208357312a96a59864e6b5ebc9e9ef7e78dc52a99932999d01b2c357274"
    );
}

#[test]
fn a_streamed_body_is_unsigned_and_needs_tls() {
    let headers = |url: &str| {
        let mut request = request(http::Method::PUT, url);
        let stream = futures_util::stream::iter([Ok::<_, std::io::Error>("text")]);
        *request.body_mut() = Some(reqwest::Body::wrap_stream(stream));
        let signer = signer("s3");
        key(&signer, None).headers(&request, SystemTime::UNIX_EPOCH + NOW)
    };
    let secure = headers("https://b.example/key").unwrap();
    assert_eq!(secure[0], (DATE_HEADER, "20150830T123600Z".to_owned()));
    assert_eq!(secure[1], (DIGEST_HEADER, UNSIGNED.to_owned()));
    let refused = headers("http://b.example/key").unwrap_err();
    assert_eq!(
        refused,
        "a streamed body can be signed only over TLS: use https"
    );
}
