//! The entry of each client: added, not added twice, updated, used, and removed again.

use expect_test::{Expect, expect};
use larder_client::{Client, Filter};
use serde_json::Value;
use tokio::process::Command;

use super::{ClientFile, connect, work_dir};
use crate::support::process::{WorkDir, path_arg};

/// Each client with a typical file.
const FILES: [(&str, &str); 7] = [
    (
        "claude-desktop",
        "{\n  \"globalShortcut\": \"\",\n  \"mcpServers\": {\n    \"git\": {\n      \"command\": \"uvx\",\n      \
         \"args\": [\"mcp-server-git\"]\n    }\n  }\n}\n",
    ),
    (
        "claude-code",
        "{\n\t\"numStartups\": 7,\n\t\"projects\": {\"/a b\": {\"mcpServers\": {}}}\n}",
    ),
    (
        "vscode",
        "{\r\n    // servers of the team\r\n    \"servers\": {\r\n        \"git\": { \"command\": \"uvx\" }, // for git\r\n    },\r\n    \"inputs\": [],\r\n}\r\n",
    ),
    (
        "cursor",
        "\u{feff}{\n  \"mcpServers\": {\n    \"git\": { \"command\": \"uvx\" }\n  }\n}\n",
    ),
    (
        "zed",
        "// Zed settings\n//\n// see the documentation\n{\n  \"theme\": \"One Dark\", // dark\n  /* fonts */\n  \
         \"buffer_font_size\": 15,\n  \"context_servers\": {\n    // first\n    \"git\": {\"command\": \"uvx\"},\n  },\n}\n",
    ),
    ("windsurf", "{}"),
    (
        "codex",
        "# the model\nmodel = \"o5\"  # large\n\n[mcp_servers.git] # of the team\ncommand = \"uvx\"\nargs = [\n  \
         \"mcp-server-git\", # newest\n]\n\n[profiles.a]\nx = 1\n# end\n",
    ),
];

/// Shows a text without the parts that differ between runs.
fn check(work_dir: &WorkDir, text: &str, expected: Expect) {
    let text = text.replace(env!("CARGO_BIN_EXE_larder"), "/bin/larder");
    expected.assert_eq(&text.replace(path_arg(&work_dir.path("")), "/work/"));
}

#[test]
fn an_entry_is_added_once_updated_and_removed_without_a_trace() {
    let work_dir = work_dir().file("other.toml", "plugins = 'plugins'\n");
    for (client, original) in FILES {
        let file = ClientFile::new(&work_dir, client, original.as_bytes());
        let shown = file.connect("").expect_success();
        assert!(
            shown.contains("\n+") && !shown.contains("\n-Zed"),
            "{client}: {shown}"
        );
        assert_eq!(
            file.text(),
            original,
            "{client}: nothing is written without --write"
        );
        let written = file.connect("--write").expect_success();
        assert_eq!(written, shown, "{client}");
        let added = file.text();
        for line in original.lines().filter(|line| line.len() > 2) {
            let line = line.trim_end_matches([',', ' ', '\r']);
            assert!(
                added.contains(line),
                "{client}: `{line}` is missing in {added}"
            );
        }
        assert_eq!(
            added.contains("\r\n"),
            original.contains("\r\n"),
            "{client}"
        );
        assert_eq!(
            added.matches('\n').count() == added.matches("\r\n").count(),
            original.contains("\r\n")
        );
        assert_eq!(
            std::fs::read(file.backup()).unwrap(),
            original.as_bytes(),
            "{client}"
        );
        let again = file.connect("--write").expect_exit(0);
        assert!(
            again.contains("already has this entry"),
            "{client}: {again}"
        );
        assert_eq!(file.text(), added, "{client}");
        file.connect("--write --config other.toml").expect_success();
        assert_eq!(
            file.text(),
            added.replace("larder.toml", "other.toml"),
            "{client}"
        );
        file.connect("--remove").expect_success();
        assert_eq!(
            file.bytes(),
            original.as_bytes(),
            "{client}: {}",
            file.text()
        );
        assert!(!file.backup().exists(), "{client}");
        let gone = file.connect("--remove").expect_exit(0);
        assert!(gone.contains("has no entry `larder`"), "{client}: {gone}");
    }
}

#[test]
fn other_changes_are_kept_when_the_entry_is_removed() {
    let work_dir = work_dir();
    for (client, original) in FILES {
        let file = ClientFile::new(&work_dir, client, original.as_bytes());
        file.connect("--write").expect_success();
        let (old, new) = match client {
            "codex" => ("# the model", "# the best model"),
            "zed" => ("One Dark", "One Light"),
            _ => ("{", "{ \"added\": 1,"),
        };
        let changed = file
            .text()
            .replacen(old, new, 1)
            .replace("\"added\": 1,}", "\"added\": 1}");
        std::fs::write(file.path(), &changed).unwrap();
        file.connect("--remove").expect_success();
        let kept = file.text();
        assert!(
            kept.contains(new.trim_start_matches('{').trim_matches([' ', ','])),
            "{client}: {kept}"
        );
        assert!(!kept.contains("larder"), "{client}: {kept}");
        assert_eq!(
            kept.contains("uvx"),
            original.contains("uvx"),
            "{client}: {kept}"
        );
        for comment in [
            "// first",
            "/* fonts */",
            "# of the team",
            "# newest",
            "# end",
            "// for git",
        ] {
            assert_eq!(
                kept.contains(comment),
                original.contains(comment),
                "{client}: {comment} in {kept}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(file.backup()).unwrap(),
            changed,
            "{client}"
        );
        std::fs::remove_file(file.backup()).unwrap();
    }
}

#[test]
fn each_client_gets_its_own_form() {
    let work_dir = work_dir();
    let file = work_dir.path("client/file");
    let write = |client: &str, options: &str| {
        _ = std::fs::remove_file(&file);
        connect(&work_dir, client, &file, &format!("--write {options}")).expect_success();
        std::fs::read_to_string(&file).unwrap()
    };
    check(
        &work_dir,
        &write("claude-code", ""),
        expect![[r#"
            {
              "mcpServers": {
                "larder": {
                  "type": "stdio",
                  "command": "/bin/larder",
                  "args": ["serve", "--stdio", "--config", "/work/larder.toml"]
                }
              }
            }
        "#]],
    );
    check(
        &work_dir,
        &write("zed", "--name docs --plugins plugins"),
        expect![[r#"
            {
              "context_servers": {
                "docs": {
                  "command": "/bin/larder",
                  "args": ["serve", "--stdio", "--config", "/work/larder.toml", "--plugins", "/work/plugins", "--resource-tools"]
                }
              }
            }
        "#]],
    );
    check(
        &work_dir,
        &write("codex", "--resource-tools"),
        expect![[r#"
            [mcp_servers.larder]
            command = "/bin/larder"
            args = ["serve", "--stdio", "--config", "/work/larder.toml", "--resource-tools"]
        "#]],
    );
    check(
        &work_dir,
        &write(
            "codex",
            "--url https://docs.example.com/mcp --token-env DOCS_TOKEN",
        ),
        expect![[r#"
            [mcp_servers.larder]
            url = "https://docs.example.com/mcp"
            bearer_token_env_var = "DOCS_TOKEN"
        "#]],
    );
    check(
        &work_dir,
        &write(
            "vscode",
            "--url https://docs.example.com/mcp --token-env DOCS_TOKEN",
        ),
        expect![[r#"
            {
              "servers": {
                "larder": {
                  "type": "http",
                  "url": "https://docs.example.com/mcp",
                  "headers": {
                    "Authorization": "Bearer ${env:DOCS_TOKEN}"
                  }
                }
              }
            }
        "#]],
    );
    check(
        &work_dir,
        &write("windsurf", "--url https://docs.example.com/mcp"),
        expect![[r#"
            {
              "mcpServers": {
                "larder": {
                  "serverUrl": "https://docs.example.com/mcp"
                }
              }
            }
        "#]],
    );
}

#[test]
fn an_update_keeps_keys_of_the_user_and_replaces_the_address() {
    let work_dir = work_dir();
    let file = ClientFile::new(&work_dir, "cursor", b"{}");
    file.connect("--write").expect_success();
    let edited = file.text().replace(
        "\"type\": \"stdio\",",
        "\"type\": \"stdio\", \"disabled\": false,",
    );
    std::fs::write(file.path(), edited).unwrap();
    file.connect("--write --url http://127.0.0.1:7878/mcp --token-env LARDER_TOKEN")
        .expect_success();
    let json: Value = serde_json::from_str(&file.text()).unwrap();
    let entry = &json["mcpServers"]["larder"];
    assert_eq!(entry["url"], "http://127.0.0.1:7878/mcp", "{entry}");
    assert_eq!(
        entry["headers"]["Authorization"], "Bearer ${env:LARDER_TOKEN}",
        "{entry}"
    );
    assert_eq!(entry["disabled"], false, "{entry}");
    assert!(
        entry.get("command").is_none() && entry.get("type").is_none(),
        "{entry}"
    );
    file.connect("--write").expect_success();
    let json: Value = serde_json::from_str(&file.text()).unwrap();
    let entry = &json["mcpServers"]["larder"];
    assert_eq!(
        (entry["type"].as_str(), entry.get("headers")),
        (Some("stdio"), None),
        "{entry}"
    );
}

#[test]
fn a_token_is_written_only_where_there_is_no_other_way() {
    let work_dir = work_dir();
    let options = "--url https://docs.example.com/mcp --token-env DOCS_TOKEN --write";
    let file = work_dir.path("client/settings.json");
    let connect = |client: &str, env: &[(&str, &str)]| {
        let mut process = work_dir.start_with(
            env,
            &format!("connect {client} --file {} {options}", path_arg(&file)),
        );
        process.stdin = None;
        process.wait()
    };
    let missing = connect("zed", &[]).expect_exit(64);
    assert!(missing.contains("DOCS_TOKEN is not set"), "{missing}");
    let zed = connect("zed", &[("DOCS_TOKEN", "s3cret-token")]);
    assert!(
        zed.stderr.contains("contains the token itself"),
        "{}",
        zed.stderr
    );
    assert!(
        !zed.stdout.contains("s3cret") && !zed.stderr.contains("s3cret"),
        "{}",
        zed.stdout
    );
    assert!(zed.expect_success().contains("Bearer (not shown)"));
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("Bearer s3cret-token")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    for client in ["claude-code", "vscode", "cursor", "windsurf", "codex"] {
        std::fs::remove_file(&file).unwrap();
        connect(client, &[("DOCS_TOKEN", "s3cret-token")]).expect_success();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("DOCS_TOKEN") && !text.contains("s3cret"),
            "{client}: {text}"
        );
    }
}

/// What a client does with an entry: it starts the program with another working directory, or connects to the URL.
#[tokio::test(flavor = "multi_thread")]
async fn the_written_entries_reach_the_server() {
    let work_dir = work_dir();
    let (_server, url) = work_dir.serve("");
    for client in [
        "claude-desktop",
        "claude-code",
        "vscode",
        "cursor",
        "zed",
        "windsurf",
    ] {
        let file = ClientFile::new(&work_dir, client, b"");
        file.connect("--write").expect_success();
        let entry = entry(&file.text());
        let words = entry["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap());
        let mut command = Command::new(entry["command"].as_str().unwrap());
        command
            .args(words)
            .current_dir("/")
            .env("XDG_CACHE_HOME", work_dir.path("cache"));
        reads(Client::spawn(command).await.unwrap()).await;
        if client == "claude-desktop" {
            let refused = file
                .connect(&format!("--write --url {url}"))
                .expect_exit(64);
            assert!(refused.contains("cannot connect to a URL"), "{refused}");
            continue;
        }
        file.connect(&format!("--write --url {url}"))
            .expect_success();
        let entry = super::clients::entry(&file.text());
        let written = entry.get("url").or(entry.get("serverUrl")).unwrap();
        reads(Client::http(written.as_str().unwrap(), None).await.unwrap()).await;
    }
}

/// The only server in the only section.
fn entry(text: &str) -> Value {
    let json: Value = serde_json::from_str(text).unwrap();
    let section = json.as_object().unwrap().values().next().unwrap().clone();
    section["larder"].clone()
}

async fn reads(mut client: Client) {
    let page = client.resources(&Filter::default(), None).await.unwrap();
    assert!(
        page.items
            .iter()
            .any(|resource| resource.uri == "echo://hello"),
        "{:?}",
        page.items
    );
    client.close().await;
}
