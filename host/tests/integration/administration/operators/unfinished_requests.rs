//! Clients that send only incomplete requests.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Api, BEARER};
use crate::support::harness::SLOW_WAIT;
use crate::support::process::WorkDir;

/// More clients than connections of the admin address.
const CLIENTS: usize = 40;

/// Sends the head and the first byte of the body.
async fn begin(api: &Api, path: &str, headers: &str) -> TcpStream {
    let mut stream = TcpStream::connect(api.server.address()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}content-length: 50\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn they_keep_no_operator_out() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let authorization = format!("authorization: {}\r\n", BEARER.1);
    for (path, headers) in [("/api/login", ""), ("/api/read", authorization.as_str())] {
        let mut unfinished = Vec::new();
        for _ in 0..CLIENTS {
            unfinished.push(begin(&api, path, headers).await);
        }
        for report in ["/metrics", "/status", "/api/status"] {
            assert_eq!(
                api.get(report, &[BEARER]).await.status,
                200,
                "{report} beside {path}"
            );
        }
        assert_eq!(api.log_in("secret", &[]).await.status, 200, "beside {path}");
        let mut response = String::new();
        let last = unfinished.last_mut().unwrap();
        timeout(SLOW_WAIT, last.read_to_string(&mut response))
            .await
            .unwrap()
            .unwrap();
        assert!(response.starts_with("HTTP/1.1 408 "), "{path}: {response}");
    }
}
