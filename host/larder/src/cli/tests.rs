use clap::CommandFactory as _;
use expect_test::{Expect, expect};

use super::*;

/// Compares the first line of the error for a command line, or "fine" if it is valid.
fn check(line: &str, expected: Expect) {
    let shown = match Cli::try_parse_from(std::iter::once("larder").chain(line.split_whitespace()))
    {
        Ok(_) => "fine".to_owned(),
        Err(error) => error
            .to_string()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn accepts_valid_command_lines() {
    for line in [
        "up",
        "up --stdio a b",
        "up a --connect zed --connect codex --listen 127.0.0.1:0",
        "up --yes",
        "up --print-config a",
        "connect zed --up a --up b --write",
        "serve",
        "serve --config x.toml --plugins p --listen localhost:0",
        "serve --stdio --plugins p",
        "check --json",
        "inspect x.wasm --json",
        "list --url http://x/mcp --token t --limit 3",
        "list --plugins p --config c",
        "list --prefix file:/// --kind file --mime text/* --provider wiki --team docs --text word",
        "templates --json",
        "templates --prefix file:/// --text word",
        "read file:///a --output x",
        "complete file:///{+path} path pre --with a=b --with c=",
        "completions fish",
        "watch a:b c:d --list --json --count 2 --for 10s --url http://x/mcp",
        "watch --list --plugins p",
        "request ping",
        "request resources/get {\"uri\":\"a:b\"} --url http://x/mcp --token t",
        "request a/b {} --listen --count 2 --then a/c --protocol 2025-06-18",
        "approve",
        "new notes --lang js --interactive --path x",
        "bindings c --with tools,prompts,search,settings,completions,versions",
        "status",
        "health",
        "health --live --admin http://x:1",
        "man folder",
        "status --admin http://x:1 --token t --json",
        "status --config c --ca f -v",
        "list --config c --ca f -v",
        "list --in-process --config c",
        "serve --stdio --admin off",
        "serve --admin localhost:1",
        "serve --admin unix:/run/admin.sock",
        "approve --json --plugins p",
        "inspect r.example/team/wiki:1 --config c --team a",
        "add r.example/team/wiki:1.2 --name notes --team a --json",
        "add team:wiki@^1.2 --config c",
        "remove wiki --yes --json",
        "update wiki notes --yes --json",
        "update --dry-run",
        "lock --check --json",
        "verify wiki --json",
        "push x.wasm r.example/wiki:1 --description d --licenses MIT --source u --version 1.0.0 --annotation a=b",
        "sign x.wasm --key k",
        "sign r.example/wiki:1 --key k --json",
        "pull --all --into d",
        "pull wiki --json",
        "gc --json",
        "approve wiki --yes --config c",
        "forget wiki --yes --config c --team a",
        "forget wiki --admin http://x:1 --token t --plugins p",
        "forget wiki --yes --admin http://x:1 --token-file t",
        "connect zed --write --resource-tools --team a --plugins p --name docs",
        "connect codex --url http://x/mcp --token-env T --project --remove",
        "token new",
        "token new --name ci --team a --team b --scope x --expires 90d --json",
        "list --token-file t",
    ] {
        check(line, expect!["fine"]);
    }
}

#[test]
fn rejects_invalid_command_lines() {
    check(
        "serve --listen 7878",
        expect![[
            r#"error: invalid value '7878' for '--listen <ADDRESS>': `7878` is not an address: write an IP address and a port, such as "127.0.0.1:7878", or a Unix socket, such as "unix:/run/larder.sock""#
        ]],
    );
    check(
        "serve --stdio --listen 127.0.0.1:1",
        expect!["error: the argument '--stdio' cannot be used with '--listen <ADDRESS>'"],
    );
    check(
        "up --stdio --yes",
        expect!["error: the argument '--stdio' cannot be used with '--yes'"],
    );
    check(
        "list --url http://x/mcp --plugins p",
        expect!["error: the argument '--url <URL>' cannot be used with '--plugins <DIR>'"],
    );
    check(
        "serve --admin 7879",
        expect![[
            r#"error: invalid value '7879' for '--admin <ADDRESS>': `7879` is not an address: write an IP address and a port, such as "127.0.0.1:7878", or a Unix socket, such as "unix:/run/larder.sock", or "off""#
        ]],
    );
    check(
        "read",
        expect!["error: the following required arguments were not provided:"],
    );
    check(
        "read a:b --json --output x",
        expect!["error: the argument '--json' cannot be used with '--output <FILE>'"],
    );
    check(
        "complete t v p --with x",
        expect!["error: invalid value 'x' for '--with <NAME=VALUE>': write NAME=VALUE"],
    );
    check(
        "watch",
        expect!["error: the following required arguments were not provided:"],
    );
    check(
        "watch a:b --count 0",
        expect!["error: invalid value '0' for '--count <N>': 0 is not in 1..18446744073709551615"],
    );
    check(
        "request ping []",
        expect![
            "error: invalid value '[]' for '[PARAMS]': not a JSON object: invalid type: sequence, expected a map at line 1 column 0"
        ],
    );
    check(
        "request a/b --count 1",
        expect!["error: the following required arguments were not provided:"],
    );
    check(
        "approve --yes",
        expect!["error: the following required arguments were not provided:"],
    );
    check(
        "list --token t --token-file f",
        expect!["error: the argument '--token <TOKEN>' cannot be used with '--token-file <FILE>'"],
    );
    check(
        "token new --team a/b",
        expect![
            "error: invalid value 'a/b' for '--team <TEAM>': `a/b` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit"
        ],
    );
    check(
        "update --yes --dry-run",
        expect!["error: the argument '--yes' cannot be used with '--dry-run'"],
    );
    check(
        "pull",
        expect!["error: the following required arguments were not provided:"],
    );
    check(
        "pull wiki --all",
        expect!["error: the argument '[NAMES]...' cannot be used with '--all'"],
    );
    check(
        "add wiki",
        expect![
            "error: invalid value 'wiki' for '<REF>': `wiki` is not a reference to a component: write `REGISTRY/REPOSITORY:TAG`, or `NAMESPACE:PACKAGE@VERSION`"
        ],
    );
    check("wat", expect!["error: unrecognized subcommand 'wat'"]);
}

#[test]
fn exit_codes_distinguish_negative_results_from_wrong_usage() {
    let code = |error: CommandError| format!("{:?}", exit_code(Err(error)));
    let of = |code: u8| format!("{:?}", ExitCode::from(code));
    let bad_url = larder_client::ClientError::BadUrl("x".into());
    assert_eq!(code(bad_url.into()), of(64));
    assert_eq!(code(larder_client::ClientError::Closed.into()), of(1));
    assert_eq!(
        code(CommandError::Output(io::ErrorKind::BrokenPipe.into())),
        of(0)
    );
    assert_eq!(
        code(CommandError::Output(io::ErrorKind::StorageFull.into())),
        of(1)
    );
    assert_eq!(format!("{:?}", exit_code(Ok(Outcome::Negative))), of(1));
}
