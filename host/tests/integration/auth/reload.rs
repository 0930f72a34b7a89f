//! The real binary: who takes a credential out of the file has taken it back, whatever else is wrong in it.

use std::fs;

use larder_model::name::Digest;

use crate::process::{Place, Ran, Running};

const ADMIN: &str = "admin.listen = '127.0.0.1:0'\n";

fn token(name: &str) -> String {
    format!("[[auth.tokens]]\nname = '{name}'\ndigest = 'sha256:{}'\n", Digest::of(name.as_bytes()))
}

fn ask(place: &Place, url: &str, token: &str) -> Ran {
    place.larder(&format!("list --url {url} --token {token}"))
}

/// A token is taken back by this text; says what the server said of it.
fn is_taken_back(place: &Place, server: &mut Running, url: &str, text: &str) {
    place.larder(&format!("list --url {url} --token bob")).yes();
    fs::write(place.path("larder.toml"), text).unwrap();
    server.told("credentials reloaded");
    let refused = ask(place, url, "bob").no(1);
    assert!(refused.contains("HTTP 401"), "{refused}");
}

#[test]
fn with_a_fault_of_another_team() {
    let teams = "[server]\nteams = ['a']\n[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = 'b'\n\
                 [team.b.provider.x]\ndirs = ['docs']\n";
    let (ann, bob) = (token("ann") + "teams = ['b']\n", token("bob") + "teams = ['a']\n");
    let place = Place::of("echo").file("larder.toml", &format!("{ADMIN}{teams}{ann}{bob}"));
    fs::create_dir(place.path("b")).unwrap();
    fs::create_dir(place.path("docs")).unwrap();
    let (mut server, url) = place.serve("");
    fs::remove_dir(place.path("docs")).unwrap();
    is_taken_back(&place, &mut server, &url, &format!("{ADMIN}{teams}{ann}"));
    let told = server.has_told("reload failed section=\"configuration\"");
    assert!(told.contains("team.b.provider.x.dirs"), "{told}");
    ask(&place, &url, "ann").yes();
    // It is tried again, though the file is the same.
    fs::create_dir(place.path("docs")).unwrap();
    server.signal("HUP");
    server.told("reloaded section=\"configuration\"");
}

#[test]
fn with_a_fault_that_leaves_nothing_of_the_file() {
    let place = Place::of("echo").file("larder.toml", &format!("{ADMIN}{}{}", token("ann"), token("bob")));
    let (mut server, url) = place.serve("");
    is_taken_back(&place, &mut server, &url, &format!("{ADMIN}{}[[[\n{}", token("ann"), token("new")));
    server.told("removed credentials are revoked");
    ask(&place, &url, "ann").yes();
    ask(&place, &url, "new").no(1);
    fs::write(place.path("larder.toml"), format!("{ADMIN}{}{}", token("ann"), token("new"))).unwrap();
    server.told("credentials reloaded");
    ask(&place, &url, "new").yes();
}

#[test]
fn of_a_team_that_comes_at_the_next_start_nothing_is_shown_and_that_is_said() {
    let teams = "[server.log]\nfilter = 'info'\n[team.a]\nplugins = 'plugins'\n";
    let ann = token("ann") + "teams = ['a']\n";
    let place = Place::of("echo").file("larder.toml", &format!("{ADMIN}{teams}{ann}"));
    let (mut server, url) = place.serve("");
    fs::create_dir(place.path("b")).unwrap();
    let bob = token("bob") + "teams = ['b']\n";
    fs::write(place.path("larder.toml"), format!("{ADMIN}{teams}{ann}[team.b]\nplugins = 'b'\n{bob}"))
        .unwrap();
    server.told("credentials reloaded");
    server.has_told("team added; it is served only after a restart");
    assert!(!ask(&place, &url, "bob").yes().contains("echo://"));
    assert!(ask(&place, &url, "ann").yes().contains("echo://hello"));
    // And gone is what is gone.
    fs::write(place.path("larder.toml"), format!("{ADMIN}[team.b]\nplugins = 'b'\n{bob}")).unwrap();
    server.told("team removed; it is served until a restart");
    assert!(ask(&place, &url, "ann").no(1).contains("HTTP 401"));
}

/// An address of this machine only, of which a configuration does not know that it is one.
const MAPPED: &str = "[::ffff:127.0.0.1]:0";

#[test]
fn the_last_one_on_an_address_that_is_reached_from_elsewhere() {
    let hosts = "[server]\nhosts = ['docs.example.com']\n";
    let place = Place::of("echo").file("larder.toml", &format!("{ADMIN}{hosts}{}", token("bob")));
    let mut server = place.start(&format!("serve --listen {MAPPED}"));
    let line = server.told("serves http://");
    let port = line.trim().trim_end_matches("/mcp").rsplit(':').next().unwrap();
    let url = format!("http://127.0.0.1:{port}/mcp");
    place.larder(&format!("list --url {url} --token bob")).yes();
    fs::write(place.path("larder.toml"), format!("{ADMIN}{hosts}")).unwrap();
    server.told("no credentials are configured");
    ask(&place, &url, "bob").no(1);
    assert!(place.larder(&format!("list --url {url}")).no(1).contains("HTTP 401"));
    server.has_told("reloaded section=\"configuration\"");
}

#[test]
fn what_is_wrong_is_in_the_status() {
    let place = Place::of("echo").file("larder.toml", &format!("{ADMIN}{}", token("ann")));
    let mut server = place.start("serve --listen 127.0.0.1:0");
    let line = server.told("serving /livez");
    let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
    server.told("serves http://");
    fs::write(place.path("larder.toml"), format!("{ADMIN}color = 1\n{}", token("ann"))).unwrap();
    server.told("reload failed section=\"configuration\"");
    let status = place.larder(&format!("status --admin {admin}"));
    assert!(status.out.contains("color"), "{}{}", status.out, status.err);
    fs::write(place.path("larder.toml"), format!("{ADMIN}{}", token("ann"))).unwrap();
    server.told("reloaded section=\"configuration\"");
    let status = place.larder(&format!("status --admin {admin}"));
    assert!(!status.out.contains("color"), "{}", status.out);
}

#[test]
fn on_a_pipe_nothing_of_the_server_has_changed() {
    let text = "stdio.subject = 'me'\n";
    let place = Place::of("echo").file("larder.toml", text);
    let mut server = place.start("serve --stdio");
    server.told("serves stdin and stdout");
    fs::write(place.path("larder.toml"), format!("{text}limits.concurrency = 3\n")).unwrap();
    server.told("reloaded section=\"configuration\"");
    server.stdin = None;
    let log = server.end().no(0);
    assert!(!log.contains("this takes effect after a restart"), "{log}");
}

#[test]
fn a_token_file_goes_before_the_environment() {
    let place = Place::of("echo").file("larder.toml", &format!("{ADMIN}{}", token("ann")));
    let place = place.file("token", "ann\n");
    let (_server, url) = place.serve("");
    let list = |token: &str, words: &str| {
        let mut running = place.start_with(&[("LARDER_TOKEN", token)], &format!("list --url {url} {words}"));
        running.stdin = None;
        running.end()
    };
    list("ann", "").yes();
    list("wrong", "--token-file token").yes();
    list("wrong", "--token ann").yes();
    list("", "--token-file token").yes();
    list("wrong", "").no(1);
    assert!(list("", "--token-file token --token ann").no(64).contains("cannot be used with"));
}
