//! The host signs requests of guests for AWS. The secret is neither in the request nor in the guest.

use larder_model::policy::{AwsSigner, CredentialPlacement};
use larder_runtime::metrics::CredentialOutcome;

use super::server::EchoServer;
use super::{INTERFACES, count, uri, with_placement};

fn signer() -> CredentialPlacement {
    CredentialPlacement::AwsV4(AwsSigner {
        region: "eu-central-1".into(),
        service: "s3".into(),
        access_key_id: "AKIA1".into(),
        session_token: None,
    })
}

/// The digest of an empty body.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_signed_and_the_secret_is_not_sent() {
    let upstream = EchoServer::start();
    let server = with_placement(&upstream, signer()).await;
    for interface in INTERFACES {
        // The response contains the whole request, which contains no secret.
        let text = server
            .text(&uri(interface, &upstream.url("echo?a=b")))
            .await;
        assert!(
            text.starts_with("200 ") && text.ends_with("not found"),
            "{text}"
        );
        let request = upstream.take_requests().pop().unwrap();
        assert!(
            request.contains("authorization: AWS4-HMAC-SHA256 Credential=AKIA1/"),
            "{request}"
        );
        let digest = format!("x-amz-content-sha256: {EMPTY}");
        assert!(request.contains(&digest), "{interface}: {request}");
        assert!(!request.contains("hush"), "{request}");
        assert!(!request.contains("transfer-encoding"), "{request}");
    }
    assert_eq!(count(&server, CredentialOutcome::Ok), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_its_own_signature_is_refused() {
    let upstream = EchoServer::start();
    let server = with_placement(&upstream, signer()).await;
    let own = uri("http-client", &upstream.url("ok")) + "&header=X-Amz-Date%3A%20own";
    let text = server.text(&own).await;
    assert!(
        text.contains("the host adds the header `x-amz-date` to this request: remove it"),
        "{text}"
    );
    assert!(upstream.take_requests().is_empty());
}
