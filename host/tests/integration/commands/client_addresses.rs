//! The servers to which client commands connect: from options, the configuration file, the environment, and the
//! default.

use crate::support::process::{RunningProcess, WorkDir};

/// Starts a server on two free ports, and writes its addresses into `larder.toml` of another working directory, with
/// more keys.
fn server_and_client(keys: &str) -> (RunningProcess, WorkDir, String, String) {
    let work_dir = WorkDir::with_guests("echo");
    let mut server = work_dir.start("serve --listen 127.0.0.1:0 --admin 127.0.0.1:0");
    let address = |line: String| {
        line.split("http://")
            .nth(1)
            .unwrap()
            .split(['/', ' ', '\n'])
            .next()
            .unwrap()
            .to_owned()
    };
    let admin = address(server.wait_for_stderr("serving /livez"));
    let endpoint = address(server.wait_for_stderr("serves http://"));
    let config = format!("server.listen = '{endpoint}'\nadmin.listen = '{admin}'\n{keys}");
    (
        server,
        WorkDir::with_guests("").file("larder.toml", &config),
        endpoint,
        admin,
    )
}

#[test]
fn client_commands_use_the_addresses_in_the_configuration_file() {
    // Other errors in the file concern only the server.
    let (_server, client, endpoint, admin) = server_and_client("secret.a = { env = 'UNSET' }\n");
    for command in [
        "list",
        "templates",
        "read echo://hello",
        "status",
        "request ping --protocol 2025-11-25",
    ] {
        client.larder(command).expect_success();
    }
    let shown = client.larder("list -v");
    let expected = format!(
        "larder: server http://{endpoint}/mcp (from server.listen in larder.toml); token: no token\n"
    );
    assert_eq!((shown.stderr, shown.code), (expected, Some(0)));
    let shown = client.larder("status -v --config larder.toml").stderr;
    assert_eq!(
        shown,
        format!(
            "larder: server http://{admin} (from admin.listen in larder.toml); token: no token\n"
        )
    );
    // Options take precedence.
    let refused = client
        .larder("list --url http://127.0.0.1:1/mcp")
        .expect_exit(1);
    assert!(
        refused.contains("cannot reach http://127.0.0.1:1/mcp"),
        "{refused}"
    );
    let refused = client
        .larder("status --admin http://127.0.0.1:1")
        .expect_exit(1);
    assert!(
        refused.contains("cannot reach http://127.0.0.1:1/api/status"),
        "{refused}"
    );
    // The endpoint has no status.
    let refused = client
        .larder(&format!("status --admin http://{endpoint}"))
        .expect_exit(1);
    let missing =
        format!("there is no http://{endpoint}/api/status: give the server's admin address");
    assert!(refused.contains(&missing), "{refused}");
    assert!(
        client
            .larder("list --config gone.toml")
            .expect_exit(64)
            .contains("cannot read gone.toml")
    );
    let broken = WorkDir::with_guests("").file("larder.toml", "server.listen = 'here'");
    assert!(
        broken
            .larder("list")
            .expect_exit(64)
            .contains("larder.toml:1: server.listen: `here` is not an address")
    );
}

#[test]
fn without_a_file_the_environment_has_the_address() {
    let (_server, client, endpoint, admin) = server_and_client("");
    let empty = WorkDir::with_guests("").file("token", "sesame\n");
    let (url, admin_url) = (format!("http://{endpoint}/mcp"), format!("http://{admin}"));
    let env = [
        ("LARDER_URL", url.as_str()),
        ("LARDER_ADMIN_URL", admin_url.as_str()),
        ("LARDER_TOKEN", "sesame"),
    ];
    let run = |work_dir: &WorkDir, env: &[(&str, &str)], args: &str| {
        work_dir.start_with(env, args).wait()
    };
    let shown = run(&empty, &env, "list -v");
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert_eq!(
        shown.stderr,
        format!("larder: server {url} (from LARDER_URL); token: from LARDER_TOKEN\n")
    );
    let shown = run(&empty, &env, "list -v --token-file token").stderr;
    assert!(shown.contains("token: from token\n"), "{shown}");
    assert_eq!(run(&empty, &env, "status").code, Some(0));
    // The file takes precedence.
    let wrong = [("LARDER_URL", "http://127.0.0.1:1/mcp")];
    assert_eq!(run(&client, &wrong, "list").code, Some(0));
    // A file without addresses does not determine the server.
    let no_address = WorkDir::with_guests("").file("larder.toml", "plugins = 'plugins'");
    let shown = run(&no_address, &wrong, "list -v").stderr;
    assert!(shown.contains("(from LARDER_URL)"), "{shown}");
}

#[test]
fn a_file_in_the_working_directory_cannot_send_a_token_to_another_machine() {
    let keys = "client = { url = 'http://192.0.2.1/mcp', admin = 'http://192.0.2.1', token_file = 'token' }";
    let work_dir = WorkDir::with_guests("")
        .file("larder.toml", keys)
        .file("token", "sesame");
    for command in ["list", "status"] {
        let refused = work_dir.larder(command).expect_exit(64);
        assert!(
            refused.contains("is not on this machine") && refused.contains("--config larder.toml"),
            "{refused}"
        );
    }
}

#[test]
fn the_token_in_the_file_is_for_its_address_only() {
    let (_server, client, _, _) = server_and_client("client.token_file = 'token'");
    let client = client.file("token", "sesame");
    let shown = client.larder("list -v").stderr;
    assert!(
        shown.ends_with("token: from client.token_file in larder.toml\n"),
        "{shown}"
    );
    let shown = client.larder("list -v --url http://127.0.0.1:1/mcp").stderr;
    assert!(shown.contains("token: no token"), "{shown}");
}

#[test]
fn components_run_in_the_process_of_a_command_only_on_request() {
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", "server.listen = '127.0.0.1:1'");
    let refused = work_dir.larder("list --config larder.toml").expect_exit(1);
    assert!(
        refused.contains("cannot reach http://127.0.0.1:1/mcp"),
        "{refused}"
    );
    for command in [
        "list --in-process",
        "list --in-process --config larder.toml",
        "list --plugins plugins",
    ] {
        assert!(
            work_dir
                .larder(command)
                .expect_success()
                .contains("echo://hello"),
            "{command}"
        );
    }
}

#[test]
fn a_stdio_server_starts_although_its_admin_address_is_in_use() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("admin.listen = '{address}'"));
    let mut stdio = work_dir.start("serve --stdio");
    stdio.wait_for_stderr("cannot bind the admin address");
    stdio.wait_for_stderr("serves stdin and stdout");
    stdio.stdin = None;
    assert_eq!(stdio.wait().code, Some(0));
    let refused = work_dir.larder("serve --listen 127.0.0.1:0").expect_exit(1);
    assert!(refused.contains("or `--admin`"), "{refused}");
    for option in ["off", "127.0.0.1:0"] {
        let (server, _) = work_dir.serve(&format!("--admin {option}"));
        server.signal("TERM");
        assert_eq!(server.wait().code, Some(0), "{option}");
    }
    let public = work_dir.larder("serve --admin 0.0.0.0:0").expect_exit(64);
    assert!(
        public.contains("--admin: 0.0.0.0:0 is reachable from outside this machine"),
        "{public}"
    );
}

#[test]
fn piped_tables_are_not_padded_and_help_has_help() {
    let work_dir = WorkDir::with_guests("echo");
    let table = work_dir.larder("list --plugins plugins").expect_success();
    assert!(
        table
            .lines()
            .all(|line| line.split('\t').count() == 4 && !line.contains("  ")),
        "{table:?}"
    );
    assert!(
        work_dir
            .larder("help --help")
            .expect_success()
            .contains("larder <COMMAND>")
    );
    assert!(
        work_dir
            .larder("help list -h")
            .expect_success()
            .contains("List the resources")
    );
}
