//! The real binary: removing a credential from the file revokes it, even if the file has errors.

use std::fs;

use larder_model::name::Digest;

use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::{ProcessOutput, RunningProcess, WorkDir};

const ADMIN: &str = "admin.listen = '127.0.0.1:0'\n";

fn token(name: &str) -> String {
    format!(
        "[[auth.tokens]]\nname = '{name}'\ndigest = 'sha256:{}'\n",
        Digest::of(name.as_bytes())
    )
}

fn list(work_dir: &WorkDir, url: &str, token: &str) -> ProcessOutput {
    work_dir.larder(&format!("list --url {url} --token {token}"))
}

/// Writes a configuration without bob's token, and checks that the token is refused.
fn assert_revoked_by(work_dir: &WorkDir, server: &mut RunningProcess, url: &str, text: &str) {
    work_dir
        .larder(&format!("list --url {url} --token bob"))
        .expect_success();
    fs::write(work_dir.path("larder.toml"), text).unwrap();
    server.wait_for_stderr("credentials reloaded");
    let refused = list(work_dir, url, "bob").expect_exit(1);
    assert!(refused.contains("HTTP 401"), "{refused}");
}

#[test]
fn revokes_despite_an_error_in_another_team() {
    let teams = "[server]\nteams = ['a']\n[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = 'b'\n\
                 [team.b.provider.x]\ndirs = ['docs']\n";
    let (ann, bob) = (
        token("ann") + "teams = ['b']\n",
        token("bob") + "teams = ['a']\n",
    );
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("{ADMIN}{teams}{ann}{bob}"));
    fs::create_dir(work_dir.path("b")).unwrap();
    fs::create_dir(work_dir.path("docs")).unwrap();
    let (mut server, url) = work_dir.serve("");
    fs::remove_dir(work_dir.path("docs")).unwrap();
    assert_revoked_by(
        &work_dir,
        &mut server,
        &url,
        &format!("{ADMIN}{teams}{ann}"),
    );
    let line = server.find_stderr("reload failed section=\"configuration\"");
    assert!(line.contains("team.b.provider.x.dirs"), "{line}");
    list(&work_dir, &url, "ann").expect_success();
    // A SIGHUP reloads the file although it has not changed.
    fs::create_dir(work_dir.path("docs")).unwrap();
    server.signal("HUP");
    server.wait_for_stderr("reloaded section=\"configuration\"");
}

#[test]
fn revokes_despite_a_syntax_error() {
    let work_dir = WorkDir::with_guests("echo").file(
        "larder.toml",
        &format!("{ADMIN}{}{}", token("ann"), token("bob")),
    );
    let (mut server, url) = work_dir.serve("");
    assert_revoked_by(
        &work_dir,
        &mut server,
        &url,
        &format!("{ADMIN}{}[[[\n{}", token("ann"), token("new")),
    );
    server.wait_for_stderr("removed credentials are revoked");
    list(&work_dir, &url, "ann").expect_success();
    list(&work_dir, &url, "new").expect_exit(1);
    fs::write(
        work_dir.path("larder.toml"),
        format!("{ADMIN}{}{}", token("ann"), token("new")),
    )
    .unwrap();
    server.wait_for_stderr("credentials reloaded");
    list(&work_dir, &url, "new").expect_success();
}

#[test]
fn a_team_is_added_and_removed_with_its_credentials() {
    let teams = "[server.log]\nfilter = 'info'\n[team.a]\nplugins = 'plugins'\n";
    let ann = token("ann") + "teams = ['a']\n";
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("{ADMIN}{teams}{ann}"));
    let (mut server, url) = work_dir.serve("");
    fs::create_dir(work_dir.path("b")).unwrap();
    fs::copy(component_path("echo"), work_dir.path("b/echo.wasm")).unwrap();
    let bob = token("bob") + "teams = ['b']\n";
    let both = format!("{ADMIN}{teams}{ann}[team.b]\nplugins = 'b'\n{bob}");
    fs::write(work_dir.path("larder.toml"), both).unwrap();
    server.wait_for_stderr("credentials reloaded");
    server.find_stderr("team added");
    eventually_blocking(SLOW_WAIT, "the new team is served", || {
        list(&work_dir, &url, "bob").stdout.contains("echo://hello")
    });
    assert!(
        list(&work_dir, &url, "ann")
            .expect_success()
            .contains("echo://hello")
    );
    fs::write(
        work_dir.path("larder.toml"),
        format!("{ADMIN}[team.b]\nplugins = 'b'\n{bob}"),
    )
    .unwrap();
    server.wait_for_stderr("team removed");
    server.find_stderr("credentials reloaded tokens=1");
    assert!(
        list(&work_dir, &url, "ann")
            .expect_exit(1)
            .contains("HTTP 401")
    );
    assert!(
        list(&work_dir, &url, "bob")
            .expect_success()
            .contains("echo://hello")
    );
}

/// A loopback address that the configuration does not recognize as a loopback address.
const MAPPED: &str = "[::ffff:127.0.0.1]:0";

#[test]
fn revokes_the_last_token_on_a_public_address() {
    let hosts = "[server]\nhosts = ['docs.example.com']\n";
    let work_dir = WorkDir::with_guests("echo")
        .file("larder.toml", &format!("{ADMIN}{hosts}{}", token("bob")));
    let mut server = work_dir.start(&format!("serve --listen {MAPPED}"));
    let line = server.wait_for_stderr("serves http://");
    let port = line
        .trim()
        .trim_end_matches("/mcp")
        .rsplit(':')
        .next()
        .unwrap();
    let url = format!("http://127.0.0.1:{port}/mcp");
    work_dir
        .larder(&format!("list --url {url} --token bob"))
        .expect_success();
    fs::write(work_dir.path("larder.toml"), format!("{ADMIN}{hosts}")).unwrap();
    server.wait_for_stderr("no credentials are configured");
    list(&work_dir, &url, "bob").expect_exit(1);
    assert!(
        work_dir
            .larder(&format!("list --url {url}"))
            .expect_exit(1)
            .contains("HTTP 401")
    );
    server.find_stderr("reloaded section=\"configuration\"");
}

#[test]
fn status_shows_reload_errors() {
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("{ADMIN}{}", token("ann")));
    let mut server = work_dir.start("serve --listen 127.0.0.1:0");
    let line = server.wait_for_stderr("serving /livez");
    let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
    server.wait_for_stderr("serves http://");
    fs::write(
        work_dir.path("larder.toml"),
        format!("{ADMIN}color = 1\n{}", token("ann")),
    )
    .unwrap();
    server.wait_for_stderr("reload failed section=\"configuration\"");
    let status = work_dir.larder(&format!("status --admin {admin}"));
    assert!(
        status.stdout.contains("color"),
        "{}{}",
        status.stdout,
        status.stderr
    );
    fs::write(
        work_dir.path("larder.toml"),
        format!("{ADMIN}{}", token("ann")),
    )
    .unwrap();
    server.wait_for_stderr("reloaded section=\"configuration\"");
    let status = work_dir.larder(&format!("status --admin {admin}"));
    assert!(!status.stdout.contains("color"), "{}", status.stdout);
}

#[test]
fn a_reload_with_stdio_needs_no_restart() {
    let text = "stdio.subject = 'me'\n";
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", text);
    let mut server = work_dir.start("serve --stdio");
    server.wait_for_stderr("serves stdin and stdout");
    fs::write(
        work_dir.path("larder.toml"),
        format!("{text}limits.concurrency = 3\n"),
    )
    .unwrap();
    server.wait_for_stderr("reloaded section=\"configuration\"");
    server.stdin = None;
    let log = server.wait().expect_exit(0);
    assert!(!log.contains("this takes effect after a restart"), "{log}");
}

#[test]
fn a_token_file_takes_precedence_over_the_environment() {
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("{ADMIN}{}", token("ann")));
    let work_dir = work_dir.file("token", "ann\n");
    let (_server, url) = work_dir.serve("");
    let list_with = |token: &str, args: &str| {
        let mut running = work_dir.start_with(
            &[("LARDER_TOKEN", token)],
            &format!("list --url {url} {args}"),
        );
        running.stdin = None;
        running.wait()
    };
    list_with("ann", "").expect_success();
    list_with("wrong", "--token-file token").expect_success();
    list_with("wrong", "--token ann").expect_success();
    list_with("", "--token-file token").expect_success();
    list_with("wrong", "").expect_exit(1);
    assert!(
        list_with("", "--token-file token --token ann")
            .expect_exit(64)
            .contains("cannot be used with")
    );
}
