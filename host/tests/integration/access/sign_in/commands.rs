//! The real program signs in to a real server that accepts tokens of an OAuth issuer. The test plays the browser.

use std::net::TcpListener;

use larder_client::ClientError;

use super::servers::{Servers, Settings, User};
use crate::support::process::{RunningProcess, WorkDir, http_client};

/// A server for tokens of this issuer.
struct ProtectedServer {
    process: RunningProcess,
    url: String,
}

/// Starts a server whose endpoint is also the audience of its tokens.
fn start(work_dir: &WorkDir, issuer: &str) -> ProtectedServer {
    // The port must be known before the server starts.
    let reserved = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = reserved.local_addr().unwrap();
    let url = format!("http://{address}/mcp");
    let config = format!(
        "[auth.oauth]\nissuer = \"{issuer}\"\naudience = \"{url}\"\nscopes = [\"docs:read\"]\n\
         algorithms = [\"ES256\"]\n"
    );
    std::fs::write(work_dir.path("larder.toml"), config).unwrap();
    drop(reserved);
    let mut process = work_dir.start(&format!("serve --listen {address}"));
    process.wait_for_stderr("serves http://");
    ProtectedServer { process, url }
}

/// Runs `larder login`, and opens the page that it prints.
fn log_in(work_dir: &WorkDir, arguments: &str) -> RunningProcess {
    let mut login = work_dir.start(&format!("login --no-browser {arguments}"));
    let page = login.wait_for_stderr("response_type=code");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let response = runtime.block_on(async {
        let response = http_client().get(page.trim()).send().await.unwrap();
        response.text().await.unwrap()
    });
    assert!(response.contains("You can close this page"), "{response}");
    login
}

fn servers_for(audience: Option<String>) -> Servers {
    Servers::start(Settings {
        audience,
        ..Settings::default()
    })
}

#[test]
fn a_server_with_oauth_is_read_after_a_login() {
    let work_dir = WorkDir::with_guests("echo");
    let servers = servers_for(None);
    let ProtectedServer { process, url } = start(&work_dir, &servers.issuer);
    servers.change(|settings| settings.audience = Some(url.clone()));
    let read = format!("read echo://hello --url {url}");
    let error = work_dir.larder(&read).expect_exit(1);
    assert!(
        error.contains("requires a sign-in (HTTP 401)")
            && error.contains(&format!("run `larder login {url}`")),
        "{error}"
    );

    let login = log_in(&work_dir, &url).wait();
    let stderr = login.stderr.clone();
    login.expect_success();
    let expected = format!("signed in to {url} with the scopes docs:read");
    assert!(stderr.contains(&expected), "{stderr}");
    let text = work_dir.larder(&read).expect_success();
    assert!(
        text.contains("caller: ann of default with [docs:read]"),
        "{text}"
    );
    let listed = work_dir.larder(&format!("list -v --url {url}"));
    assert!(
        listed.stderr.contains("token: from `larder login`"),
        "{}",
        listed.stderr
    );
    assert!(listed.expect_success().contains("echo://"));

    let ended = work_dir.larder(&format!("logout {url}"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    work_dir.larder(&read).expect_exit(1);
    let again = work_dir.larder(&format!("logout {url}")).expect_exit(1);
    assert!(again.contains("no tokens are stored"), "{again}");
    drop(process);
}

/// An authorization server may issue tokens for another server. This one refuses them.
#[test]
fn a_token_for_another_audience_is_refused() {
    let work_dir = WorkDir::with_guests("echo");
    let servers = servers_for(Some("https://other.example/mcp".into()));
    let server = start(&work_dir, &servers.issuer);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let user = User::new();
    let error = runtime.block_on(user.builder().log_in(&server.url));
    let error = error.unwrap_err();
    assert!(
        matches!(error, ClientError::SignInRequired { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("audience"), "{error}");
    // The user was not asked without end.
    assert_eq!(servers.requests("/as/authorize").len(), 3);
}

#[test]
fn other_commands_sign_in_with_an_option() {
    let work_dir = WorkDir::with_guests("echo");
    let servers = servers_for(None);
    let server = start(&work_dir, &servers.issuer);
    servers.change(|settings| settings.audience = Some(server.url.clone()));
    let arguments = format!("list --login --url {}", server.url);
    let mut list = work_dir.start_with(&[("BROWSER", "false")], &arguments);
    let page = list.wait_for_stderr("response_type=code");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { http_client().get(page.trim()).send().await.unwrap() });
    assert!(list.wait().expect_success().contains("echo://"));
}

#[test]
fn a_browser_is_started_with_the_address() {
    let work_dir = WorkDir::with_guests("");
    let servers = Servers::start(Settings::default());
    let script = work_dir.path("browser");
    std::fs::write(
        &script,
        "#!/bin/sh\nprintf '%s' \"$2\" > page.new && mv page.new page\n",
    )
    .unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, permissions).unwrap();
    let browser = format!("{} --new", script.display());
    let env = [("BROWSER", browser.as_str()), ("PATH", env!("PATH"))];
    let mut login = work_dir.start_with(&env, &format!("login {}", servers.url));
    let printed = login.wait_for_stderr("response_type=code");
    crate::support::harness::eventually_blocking(
        crate::support::harness::SLOW_WAIT,
        "the browser starts",
        || work_dir.path("page").exists(),
    );
    let page = std::fs::read_to_string(work_dir.path("page")).unwrap();
    assert_eq!(page, printed.trim());
}

#[test]
fn wrong_usage_is_reported() {
    let work_dir = WorkDir::with_guests("");
    let check = |arguments: &str, expected: &str| {
        let error = work_dir.larder(arguments).expect_exit(64);
        assert!(error.contains(expected), "{error}");
    };
    check(
        "login unix:/run/larder.sock",
        "there is no sign-in for unix:",
    );
    check("login x", "is not the URL of a server");
    check("login http://docs.example.com/mcp", "is plain HTTP");
    check(
        "login http://127.0.0.1:1/mcp --client-id a --client-secret-file no",
        "cannot read no",
    );
    let mut command = work_dir.command(&[], "login http://127.0.0.1:1/mcp");
    command.env_remove("HOME").env_remove("XDG_STATE_HOME");
    let error = WorkDir::spawn(command).wait().expect_exit(64);
    assert!(error.contains("set HOME or XDG_STATE_HOME"), "{error}");
}

/// A server that requires no token, and has no metadata.
#[test]
fn a_server_without_authentication_has_no_sign_in() {
    let work_dir = WorkDir::with_guests("echo");
    let (_server, url) = work_dir.serve("");
    let error = work_dir.larder(&format!("login {url}")).expect_exit(1);
    assert!(error.contains("does not say where to sign in"), "{error}");
}
