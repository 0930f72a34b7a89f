//! Stored tokens: their files, their renewal, and their end.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use larder_client::{ClientError, Filter};
use serde_json::json;

use super::servers::{RawAnswer, Recorded, Servers, Settings, User};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn only_file(user: &User) -> std::path::PathBuf {
    let files = std::fs::read_dir(user.folder.path().join("sign-ins")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    files
        .find(|path| path.extension().is_some_and(|it| it == "json"))
        .unwrap()
}

/// The refresh requests that arrived.
fn renewals(servers: &Servers) -> Vec<Recorded> {
    let mut requests = servers.requests("/as/token");
    requests.retain(|request| request.form["grant_type"] == "refresh_token");
    requests
}

/// Signs in, and makes the token one that ends.
async fn with_ending_token() -> (Servers, User) {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    user.log_in(&servers).await.unwrap();
    // The test does not wait for the end of the token.
    let path = only_file(&user);
    let mut record = user.record();
    record["renew_at"] = json!(1);
    std::fs::write(path, record.to_string()).unwrap();
    (servers, user)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_user_can_read_the_files() {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    user.log_in(&servers).await.unwrap();
    let path = only_file(&user);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("127.0.0.1-"), "{name}");

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = user.silent_builder().http(&servers.url).await.unwrap_err();
    assert!(error.to_string().contains("chmod go-rwx"), "{error}");
    // A new sign-in replaces the file.
    user.log_in(&servers).await.unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_server_has_its_own_tokens() {
    let (one, two) = (
        Servers::start(Settings::default()),
        Servers::start(Settings::default()),
    );
    let user = User::new();
    user.log_in(&one).await.unwrap();
    let error = user.silent_builder().http(&two.url).await.unwrap_err();
    assert!(
        matches!(error, ClientError::SignInRequired { .. }),
        "{error}"
    );
    let requests = two.requests("/mcp");
    assert!(
        requests.iter().all(|it| it.authorization.is_none()),
        "{requests:?}"
    );
    user.log_in(&two).await.unwrap();
    for servers in [&one, &two] {
        let client = user.silent_builder().http(&servers.url).await.unwrap();
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_token_has_precedence() {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    user.log_in(&servers).await.unwrap();
    let before = servers.requests("/mcp").len();
    let error = user
        .silent_builder()
        .token("given")
        .http(&servers.url)
        .await;
    assert!(matches!(error, Err(ClientError::SignInRequired { .. })));
    let sent = servers.requests("/mcp")[before].authorization.clone();
    assert_eq!(sent.as_deref(), Some("Bearer given"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_renewed_before_it_ends_and_the_new_refresh_token_is_kept() {
    let (servers, user) = with_ending_token().await;
    let first = user.record();
    let client = user.silent_builder().http(&servers.url).await.unwrap();
    client.close().await;
    let second = user.record();
    let request = &renewals(&servers)[0].form;
    assert_eq!(request["refresh_token"], first["refresh_token"]);
    assert_eq!(request["resource"], servers.url);
    assert_ne!(second["access_token"], first["access_token"]);
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert_eq!(second["client"], first["client"]);
    assert_eq!(mode(&only_file(&user)), 0o600);

    // An authorization server that returns no other refresh token accepts the old one again.
    servers.change(|settings| settings.tokens = json!({ "refresh_token": null }));
    servers.expire_tokens();
    let client = user.silent_builder().http(&servers.url).await.unwrap();
    client.close().await;
    assert_eq!(user.record()["refresh_token"], second["refresh_token"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_server_refuses_is_renewed_once() {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    user.log_in(&servers).await.unwrap();
    let mut client = user.silent_builder().http(&servers.url).await.unwrap();
    servers.expire_tokens();
    client.resources(&Filter::default(), None).await.unwrap();
    assert_eq!(renewals(&servers).len(), 1);

    // A server that refuses every token.
    let refused = RawAnswer {
        status: 401,
        ..RawAnswer::default()
    };
    servers.change(|settings| _ = settings.raw.insert("/mcp".into(), refused));
    let error = user.silent_builder().http(&servers.url).await;
    assert!(
        matches!(error, Err(ClientError::Unauthorized { .. })),
        "{error:?}"
    );
    assert_eq!(renewals(&servers).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_clients_use_a_refresh_token_once() {
    let (servers, user) = with_ending_token().await;
    let clients = (0..8).map(|_| async {
        let client = user.silent_builder().http(&servers.url).await.unwrap();
        client.close().await;
    });
    futures_util::future::join_all(clients).await;
    assert_eq!(renewals(&servers).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_sign_in_says_what_to_do() {
    let (servers, user) = with_ending_token().await;
    servers.expire_refresh_tokens();
    let error = user.silent_builder().http(&servers.url).await.unwrap_err();
    let expected = format!("has ended: run `larder login {}`", servers.url);
    assert!(error.to_string().contains(&expected), "{error}");

    // A client that may ask the user signs in instead.
    servers.expire_tokens();
    let client = user.builder().http(&servers.url).await.unwrap();
    client.close().await;
    assert_eq!(servers.requests("/as/authorize").len(), 2);

    // A failure that may pass does not end it.
    let mut record = user.record();
    record["renew_at"] = json!(1);
    std::fs::write(only_file(&user), record.to_string()).unwrap();
    let failure = RawAnswer {
        status: 503,
        ..RawAnswer::default()
    };
    servers.change(|settings| _ = settings.raw.insert("/as/token".into(), failure));
    let error = user.silent_builder().http(&servers.url).await.unwrap_err();
    assert!(
        error.to_string().contains("/as/token answers HTTP 503"),
        "{error}"
    );
    assert!(user.sign_in.store.contains(&servers.url));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_deletes_and_revokes_the_tokens() {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    user.log_in(&servers).await.unwrap();
    let refresh_token = user.record()["refresh_token"].clone();
    assert!(user.silent_builder().log_out(&servers.url).await.unwrap());
    assert_eq!(
        servers.requests("/as/revoke")[0].form["token"],
        refresh_token
    );
    assert!(!user.sign_in.store.contains(&servers.url));
    assert!(!user.silent_builder().log_out(&servers.url).await.unwrap());

    // The tokens are deleted also if they cannot be revoked.
    user.log_in(&servers).await.unwrap();
    let failure = RawAnswer {
        status: 500,
        ..RawAnswer::default()
    };
    servers.change(|settings| _ = settings.raw.insert("/as/revoke".into(), failure));
    let error = user
        .silent_builder()
        .log_out(&servers.url)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("/as/revoke answers HTTP 500"),
        "{error}"
    );
    assert!(!user.sign_in.store.contains(&servers.url));
}
