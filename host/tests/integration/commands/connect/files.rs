//! Files that are broken, missing, protected, linked or owned by another user.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{ClientFile, connect, work_dir};
use crate::support::process::WorkDir;

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_broken_file_is_reported_and_not_touched() {
    let work_dir = work_dir();
    for (client, content, reason) in [
        ("claude-desktop", &b"{\n  \"mcpServers\": {\n"[..], "line"),
        (
            "claude-desktop",
            b"{ // comment\n}",
            "Comments are not allowed",
        ),
        (
            "claude-code",
            b"{\"a\": 1,}",
            "Trailing commas are not allowed",
        ),
        (
            "vscode",
            b"{\"servers\": []}",
            "its `servers` is not a table",
        ),
        ("vscode", b"[]", "it is not a table"),
        (
            "cursor",
            b"{\"mcpServers\": {}, \"mcpServers\": {}}",
            "`mcpServers` is there twice",
        ),
        (
            "cursor",
            b"{\"mcpServers\": {\"larder\": 7}}",
            "its `larder` is not a table",
        ),
        ("zed", b"{\"theme\": One}", "on line 1"),
        ("windsurf", b"\xff\xfe{}", "not UTF-8"),
        (
            "windsurf",
            b"{\"mcpServers\": {\"larder\": {\"command\": \"uvx\"}}}",
            "for another program",
        ),
        ("codex", b"model = \"o5", "TOML parse error at line 1"),
        (
            "codex",
            b"mcp_servers = 7\n",
            "its `mcp_servers` is not a table",
        ),
        (
            "codex",
            b"[mcp_servers]\nlarder = 7\n",
            "its `larder` is not a table",
        ),
    ] {
        let file = ClientFile::new(&work_dir, client, content);
        for options in ["", "--write", "--remove"] {
            // A section that does not exist has no entry to remove either.
            let error = file.connect(options).expect_exit(64);
            assert!(
                error.contains(reason) && error.contains("client/file"),
                "{client} {options}: {error}"
            );
            assert_eq!(file.bytes(), content, "{client} {options}");
        }
        assert_eq!(
            std::fs::read_dir(work_dir.path("client")).unwrap().count(),
            1,
            "{client}"
        );
    }
}

#[test]
fn a_missing_file_is_created_with_its_folder_and_deleted_again() {
    let work_dir = work_dir();
    for client in [
        "claude-desktop",
        "claude-code",
        "vscode",
        "cursor",
        "zed",
        "windsurf",
        "codex",
    ] {
        let file = work_dir.path("client/new/deep/settings");
        let missing = connect(&work_dir, client, &file, "--remove").expect_exit(0);
        assert!(missing.contains("has no entry"), "{missing}");
        let shown = connect(&work_dir, client, &file, "").expect_success();
        assert!(shown.starts_with("--- /dev/null\n"), "{shown}");
        assert!(!work_dir.path("client/new").exists(), "{client}");
        connect(&work_dir, client, &file, "--write").expect_success();
        let shown = connect(&work_dir, client, &file, "--remove").expect_success();
        assert!(shown.contains("+++ /dev/null\n"), "{shown}");
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            0,
            "{client}"
        );
        std::fs::remove_dir_all(work_dir.path("client/new")).unwrap();
    }
}

#[test]
fn the_file_of_the_user_and_of_the_project_are_found() {
    let work_dir = work_dir();
    let header = |options: &str| {
        let shown = work_dir
            .larder(&format!("connect {options}"))
            .expect_success();
        let header = shown
            .lines()
            .nth(1)
            .unwrap()
            .strip_prefix("+++ ")
            .unwrap()
            .to_owned();
        let folder = work_dir.path("").canonicalize().unwrap();
        let header = std::path::absolute(header).unwrap();
        let relative = header
            .strip_prefix(&folder)
            .or(header.strip_prefix(work_dir.path("")));
        relative.unwrap_or(&header).display().to_string()
    };
    assert_eq!(header("cursor"), ".cursor/mcp.json");
    assert_eq!(header("claude-code"), ".claude.json");
    assert_eq!(header("zed"), ".config/zed/settings.json");
    assert_eq!(header("codex"), ".codex/config.toml");
    assert_eq!(header("claude-code --project"), ".mcp.json");
    assert_eq!(header("vscode --project"), ".vscode/mcp.json");
    assert_eq!(header("zed --project"), ".zed/settings.json");
    let none = work_dir
        .larder("connect windsurf --project")
        .expect_exit(64);
    assert!(none.contains("without --project"), "{none}");
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let work_dir = work_dir();
    let file = ClientFile::new(&work_dir, "zed", b"{}");
    std::fs::set_permissions(file.path(), Permissions::from_mode(0o444)).unwrap();
    let error = file.connect("--write");
    assert_eq!(error.code, Some(64));
    assert!(error.stderr.contains("is read-only"), "{}", error.stderr);
    assert_eq!((file.bytes(), mode(&file.path())), (b"{}".to_vec(), 0o444));
    assert!(!file.backup().exists());
}

#[test]
fn a_symlink_stays_and_its_target_keeps_its_mode() {
    let work_dir = work_dir();
    let dotfile = work_dir.path("dotfiles/zed.json");
    std::fs::create_dir(work_dir.path("dotfiles")).unwrap();
    std::fs::write(&dotfile, "{ /* mine */ }\n").unwrap();
    std::fs::set_permissions(&dotfile, Permissions::from_mode(0o640)).unwrap();
    let link = work_dir.path("client/settings.json");
    symlink("../dotfiles/zed.json", &link).unwrap();
    connect(&work_dir, "zed", &link, "--write").expect_success();
    assert!(link.is_symlink());
    assert!(!dotfile.is_symlink() && mode(&dotfile) == 0o640);
    let text = std::fs::read_to_string(&dotfile).unwrap();
    assert!(
        text.contains("/* mine */") && text.contains("context_servers"),
        "{text}"
    );
    // The backup is not in the folder of the target, which may be a repository.
    assert_eq!(
        std::fs::read_dir(work_dir.path("dotfiles"))
            .unwrap()
            .count(),
        1
    );
    assert_eq!(
        mode(&work_dir.path("client/settings.json.larder-backup")),
        0o640
    );
    connect(&work_dir, "zed", &link, "--remove").expect_success();
    assert!(link.is_symlink());
    assert_eq!(
        std::fs::read_to_string(&dotfile).unwrap(),
        "{ /* mine */ }\n"
    );
}

#[test]
fn a_symlink_to_nothing_gets_its_target() {
    let work_dir = work_dir();
    let link = work_dir.path("client/mcp.json");
    symlink("../dotfiles/mcp.json", &link).unwrap();
    connect(&work_dir, "cursor", &link, "--write").expect_success();
    assert!(link.is_symlink() && work_dir.path("dotfiles/mcp.json").is_file());
    symlink(work_dir.path("client/loop"), work_dir.path("client/loop")).unwrap();
    let error = connect(
        &work_dir,
        "cursor",
        &work_dir.path("client/loop"),
        "--write",
    )
    .expect_exit(1);
    assert!(error.contains("too many symlinks"), "{error}");
    let error = connect(&work_dir, "cursor", &work_dir.path("client"), "--write").expect_exit(64);
    assert!(error.contains("is not a file"), "{error}");
}

#[test]
fn a_server_that_could_not_start_is_not_connected() {
    let work_dir = WorkDir::with_guests("echo");
    let file = ClientFile {
        work_dir: &work_dir,
        client: "zed",
    };
    std::fs::create_dir(work_dir.path("client")).unwrap();
    let missing = file.connect("--write").expect_exit(64);
    assert!(missing.contains("larder.toml"), "{missing}");
    let work_dir = work_dir.file("larder.toml", "colour = 1\n");
    let file = ClientFile {
        work_dir: &work_dir,
        client: "zed",
    };
    let invalid = file.connect("--write").expect_exit(64);
    assert!(invalid.contains("colour"), "{invalid}");
    let teams = "[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = 'other'\n";
    let work_dir = work_dir.file("larder.toml", teams);
    std::fs::create_dir(work_dir.path("other")).unwrap();
    let file = ClientFile {
        work_dir: &work_dir,
        client: "zed",
    };
    let several = file.connect("--write").expect_exit(64);
    assert!(
        several.contains("there are several teams (a, b)"),
        "{several}"
    );
    assert!(!file.path().exists());
    file.connect("--write --team b").expect_success();
    assert!(file.text().contains("\"--team\", \"b\""), "{}", file.text());
}

#[test]
fn arguments_are_checked() {
    let work_dir = work_dir();
    for (options, reason) in [
        (
            "emacs",
            "possible values: claude-desktop, claude-code, vscode, cursor, zed, windsurf, codex",
        ),
        ("zed --name a/b", "letters, digits"),
        ("zed --url ftp://x", "write the URL of the endpoint"),
        (
            "zed --url http://x/mcp --token-env s3cret-token",
            "the name of the variable",
        ),
        ("zed --token-env X", "--url"),
        (
            "zed --url http://x/mcp --config larder.toml",
            "cannot be used with",
        ),
        ("zed --file x --project", "cannot be used with"),
    ] {
        let error = work_dir
            .larder(&format!("connect {options}"))
            .expect_exit(64);
        assert!(error.contains(reason), "{options}: {error}");
    }
}
