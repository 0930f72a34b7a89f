//! What a sign-in requests: the metadata, the identity of the client, the scopes, and the two ways to sign in.

use serde_json::{Map, Value, json};

use super::servers::{RawAnswer, Servers, Settings, User};
use larder_client::ClientError;

const TOKEN: &str = "/as/token";
const AUTHORIZE: &str = "/as/authorize";

/// Signs in, and returns the only request with this path.
async fn request_of(settings: Settings, user: &User, path: &str) -> super::servers::Recorded {
    let servers = Servers::start(settings);
    user.log_in(&servers).await.unwrap();
    let requests = servers.requests(path);
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests[0].clone()
}

async fn call_tool(client: &mut larder_client::Client) -> Result<Value, ClientError> {
    let params: Map<String, Value> =
        serde_json::from_value(json!({ "name": "x", "arguments": {} })).unwrap();
    client.request("tools/call", params).await
}

#[tokio::test(flavor = "multi_thread")]
async fn signs_in_with_a_code_and_pkce_for_one_resource() {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    let login = user.log_in(&servers).await.unwrap();
    assert_eq!(login.scopes, Vec::<String>::new());
    let expected = [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server/as",
        "/as/register",
        AUTHORIZE,
        TOKEN,
    ];
    assert_eq!(servers.paths(), expected);

    let request = &servers.requests(AUTHORIZE)[0].form;
    assert_eq!(request["response_type"], "code");
    assert_eq!(request["code_challenge_method"], "S256");
    assert_eq!(request["resource"], servers.url);
    assert!(request["state"].len() >= 43, "{request:?}");
    assert!(!request.contains_key("scope"), "{request:?}");
    let token = &servers.requests(TOKEN)[0].form;
    assert_eq!(token["resource"], servers.url);
    assert_eq!(token["client_id"], request["client_id"]);

    let registration = &servers.requests("/as/register")[0].body;
    assert_eq!(registration["application_type"], "native");
    assert_eq!(
        registration["redirect_uris"],
        json!([request["redirect_uri"]])
    );
    assert_eq!(
        registration["grant_types"],
        json!(["authorization_code", "refresh_token"])
    );

    // Other commands use the token, and ask nobody.
    let client = user.silent_builder().http(&servers.url).await.unwrap();
    client.close().await;
    assert_eq!(servers.paths().len(), expected.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn signs_in_with_a_device_code() {
    let mut user = User::new();
    user.sign_in.with_device_code = true;
    let settings = Settings {
        pending_polls: 2,
        challenge: "scope=\"docs:read\"",
        ..Settings::default()
    };
    let servers = Servers::start(settings);
    let login = user.log_in(&servers).await.unwrap();
    assert_eq!(login.scopes, ["docs:read"]);
    assert_eq!(servers.requests(TOKEN).len(), 3);
    let request = &servers.requests("/as/device")[0].form;
    assert_eq!(request["resource"], servers.url);
    assert_eq!(request["scope"], "docs:read");
    let code = &servers.requests("/as/activate")[0].form["code"];
    assert_eq!(code, "ABCD-EFGH");
    let registration = &servers.requests("/as/register")[0].body;
    assert_eq!(
        registration["grant_types"][0],
        "urn:ietf:params:oauth:grant-type:device_code"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn looks_for_metadata_where_the_specification_says() {
    let resource = RawAnswer {
        status: 404,
        ..RawAnswer::default()
    };
    let at_root = "/.well-known/oauth-protected-resource";
    let settings = Settings {
        hides_metadata_url: true,
        ..Settings::default()
    };
    let servers = Servers::start(settings);
    let document = json!({ "resource": servers.url, "authorization_servers": [servers.issuer] });
    let metadata = json!({
        "issuer": servers.issuer,
        "authorization_endpoint": format!("{}/authorize", servers.issuer),
        "token_endpoint": format!("{}/token", servers.issuer),
        "registration_endpoint": format!("{}/register", servers.issuer),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    });
    let found = |document: &Value| RawAnswer {
        status: 200,
        body: document.to_string(),
        ..RawAnswer::default()
    };
    let openid = "/as/.well-known/openid-configuration";
    servers.change(|settings| {
        let raw = &mut settings.raw;
        raw.insert(format!("{at_root}/mcp"), resource.clone());
        raw.insert(at_root.into(), found(&document));
        raw.insert(
            "/.well-known/oauth-authorization-server/as".into(),
            resource,
        );
        raw.insert(openid.into(), found(&metadata));
    });
    User::new().log_in(&servers).await.unwrap();
    let paths = servers.paths();
    assert_eq!(
        paths[..5],
        [
            "/.well-known/oauth-protected-resource/mcp",
            at_root,
            "/.well-known/oauth-authorization-server/as",
            "/.well-known/openid-configuration/as",
            openid,
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn selects_scopes_as_the_specification_says() {
    let scopes = async |settings: Settings, own: &[&str]| {
        let mut user = User::new();
        user.sign_in.scopes = own.iter().map(|scope| (*scope).to_owned()).collect();
        let request = request_of(settings, &user, AUTHORIZE).await;
        request.form.get("scope").cloned()
    };
    let of_resource = json!({ "scopes_supported": ["a", "b"] });
    let from_metadata = Settings {
        resource_metadata: of_resource.clone(),
        ..Settings::default()
    };
    let from_challenge = Settings {
        challenge: "scope=\"c\"",
        ..from_metadata.clone()
    };
    let offline = Settings {
        server_metadata: json!({ "scopes_supported": ["offline_access", "x"] }),
        ..from_metadata.clone()
    };
    let only_offline = Settings {
        resource_metadata: Value::Null,
        ..offline.clone()
    };
    assert_eq!(scopes(from_metadata, &[]).await.as_deref(), Some("a b"));
    assert_eq!(
        scopes(from_challenge.clone(), &[]).await.as_deref(),
        Some("c")
    );
    assert_eq!(
        scopes(from_challenge, &["d", "c"]).await.as_deref(),
        Some("c d")
    );
    assert_eq!(
        scopes(offline, &[]).await.as_deref(),
        Some("a b offline_access")
    );
    assert_eq!(scopes(only_offline, &[]).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_identity_is_given_or_a_document_or_a_registration() {
    let mut user = User::new();
    user.sign_in.identity.id = Some("our client".into());
    user.sign_in.identity.secret = Some("se:cret".into());
    let token = request_of(Settings::default(), &user, TOKEN).await;
    let expected = base64_simd::STANDARD.encode_to_string("our+client:se%3Acret");
    assert_eq!(token.authorization, Some(format!("Basic {expected}")));

    let document = "https://larder.example/client.json";
    let with_documents = Settings {
        server_metadata: json!({ "client_id_metadata_document_supported": true }),
        ..Settings::default()
    };
    let mut user = User::new();
    user.sign_in.identity.metadata_url = Some(document.into());
    let request = request_of(with_documents.clone(), &user, AUTHORIZE).await;
    assert_eq!(request.form["client_id"], document);
    // An authorization server that does not support documents registers the client.
    let request = request_of(Settings::default(), &User::new(), "/as/register").await;
    assert_eq!(request.body["token_endpoint_auth_method"], "none");

    let post = Settings {
        server_metadata: json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] }),
        registration: json!({ "client_secret": "s" }),
        ..Settings::default()
    };
    let token = request_of(post, &User::new(), TOKEN).await;
    assert_eq!(token.form["client_secret"], "s");
    assert_eq!(token.authorization, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_is_used_again_but_never_at_another_authorization_server() {
    let (servers, user) = (Servers::start(Settings::default()), User::new());
    user.log_in(&servers).await.unwrap();
    user.log_in(&servers).await.unwrap();
    assert_eq!(servers.requests("/as/register").len(), 1);
    let first = servers.requests(AUTHORIZE)[0].form["client_id"].clone();

    let other = Servers::start(Settings::default());
    let metadata = json!({ "authorization_servers": [other.issuer] });
    servers.change(|settings| settings.resource_metadata = metadata);
    // The MCP server does not accept the tokens of the other one, but that does not matter here.
    let error = user.log_in(&servers).await.unwrap_err();
    assert!(
        matches!(error, ClientError::SignInRequired { .. }),
        "{error}"
    );
    assert!(!other.requests("/as/register").is_empty());
    let ids = other.requests(AUTHORIZE);
    assert!(
        ids.iter().all(|it| it.form["client_id"] != first),
        "{ids:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_selects_one_of_several_authorization_servers() {
    let servers = Servers::start(Settings::default());
    let both = json!({ "authorization_servers": ["https://other.example", servers.issuer] });
    servers.change(|settings| settings.resource_metadata = both);
    let mut user = User::new();
    user.sign_in.issuer = Some(servers.issuer.clone());
    user.log_in(&servers).await.unwrap();
    user.sign_in.issuer = Some("https://third.example".into());
    let error = user.log_in(&servers).await.unwrap_err().to_string();
    assert!(
        error.contains(
            "does not accept tokens of `https://third.example`, only of these: https://other.example"
        ),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_scopes_are_requested_with_the_old_ones_and_a_limited_number_of_times() {
    let settings = Settings {
        challenge: "scope=\"read\"",
        scope_of_calls: Some("write"),
        ..Settings::default()
    };
    let (servers, user) = (Servers::start(settings), User::new());
    user.log_in(&servers).await.unwrap();
    let mut silent = user.silent_builder().http(&servers.url).await.unwrap();
    let error = call_tool(&mut silent).await.unwrap_err().to_string();
    let command = format!("run `larder login {} --scope write`", servers.url);
    assert!(error.contains(&command), "{error}");

    let mut client = user.builder().http(&servers.url).await.unwrap();
    call_tool(&mut client).await.unwrap();
    let requests = servers.requests(AUTHORIZE);
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].form["scope"], "read write");

    // A server that never accepts the scope.
    servers.change(|settings| settings.scope_of_calls = Some("a b"));
    let error = call_tool(&mut client).await.unwrap_err();
    assert!(
        matches!(error, ClientError::InsufficientScope { .. }),
        "{error}"
    );
    assert_eq!(servers.requests(AUTHORIZE).len(), 4);
}
