//! Changes of the file between reading and writing it, which a test from outside cannot time.

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum as _;
use tempfile::TempDir;

use super::*;

fn server() -> Change {
    Change::Set(Server::Program {
        command: "/bin/larder".into(),
        args: vec!["serve".into()],
    })
}

fn file(content: Option<&str>) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("settings");
    if let Some(content) = content {
        fs::write(&path, content).unwrap();
    }
    (folder, path)
}

#[test]
fn a_concurrent_change_is_not_overwritten() {
    for client in Client::value_variants() {
        for (before, after) in [
            (Some(""), Some("# new\n")),
            (Some(""), None),
            (None, Some("# new\n")),
        ] {
            let (folder, path) = file(before);
            let plan = Plan::new(*client, &path, "larder", &server()).unwrap();
            match after {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let error = plan.write().unwrap_err();
            assert!(matches!(error, ConnectError::Changed(_)), "{error}");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), after);
            let left = fs::read_dir(folder.path()).unwrap();
            assert_eq!(left.count(), after.iter().count(), "no other file is left");
        }
    }
}

#[test]
fn a_change_before_the_removal_is_not_lost() {
    let (_folder, path) = file(None);
    Plan::new(Client::Codex, &path, "larder", &server())
        .unwrap()
        .write()
        .unwrap();
    let plan = Plan::new(Client::Codex, &path, "larder", &Change::Remove).unwrap();
    let changed = fs::read_to_string(&path).unwrap() + "# mine\n";
    fs::write(&path, &changed).unwrap();
    assert!(matches!(
        plan.write().unwrap_err(),
        ConnectError::Changed(_)
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), changed);
}

#[test]
fn several_entries_are_removed_in_any_order() {
    let original = "[a]\nx = 1\n# end";
    for order in [["one", "two"], ["two", "one"]] {
        let (_folder, path) = file(Some(original));
        for name in ["one", "two"] {
            Plan::new(Client::Codex, &path, name, &server())
                .unwrap()
                .write()
                .unwrap();
        }
        for name in order {
            Plan::new(Client::Codex, &path, name, &Change::Remove)
                .unwrap()
                .write()
                .unwrap();
        }
        let left = fs::read_to_string(&path).unwrap();
        assert_eq!(left.trim_end(), original, "{order:?}");
    }
}

#[test]
fn tables_of_any_form_are_edited() {
    let commands = ["x/larder", "/bin/larder"];
    for before in [
        "mcp_servers = { larder = { command = \"x/larder\" }, b = { command = \"b\" } } # all\n",
        "[mcp_servers]\nlarder = { command = \"x/larder\" }\nb.command = \"b\"\n",
        "[mcp_servers]\nb.command = \"b\"\nlarder.command = \"x/larder\" # mine\n# end\n",
        "mcp_servers.b.command = \"b\"\nmcp_servers.larder.command = \"x/larder\"\n",
        "[mcp_servers.larder] # mine\r\ncommand = \"x/larder\" # old\r\n[mcp_servers.larder.env]\r\nA = \"1\"\r\n\r\n[mcp_servers.b]\r\ncommand = \"b\"",
    ] {
        let (_folder, path) = file(Some(before));
        Plan::new(Client::Codex, &path, "larder", &server())
            .unwrap()
            .write()
            .unwrap();
        let after = fs::read_to_string(&path).unwrap();
        assert!(
            !after.contains(commands[0]) && after.contains(commands[1]),
            "{after}"
        );
        for comment in ["# all", "# mine", "# old", "# end"] {
            assert_eq!(after.contains(comment), before.contains(comment), "{after}");
        }
        assert_eq!(after.ends_with('\n'), before.ends_with('\n'), "{after:?}");
        let ends_like_windows =
            |text: &str| text.matches('\n').count() == text.matches("\r\n").count();
        assert_eq!(
            ends_like_windows(&after),
            ends_like_windows(before),
            "{after:?}"
        );
        let json: toml::Table = after.parse().unwrap();
        assert_eq!(
            json["mcp_servers"]["b"]["command"].as_str(),
            Some("b"),
            "{after}"
        );
        Plan::new(Client::Codex, &path, "larder", &Change::Remove)
            .unwrap()
            .write()
            .unwrap();
        let left: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        let servers = left["mcp_servers"].as_table().unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["b"]);
    }
}
