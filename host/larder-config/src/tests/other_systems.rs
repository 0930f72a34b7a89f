//! Tests of what other systems do: file names without case, and lines that end with a carriage return.

use super::*;

#[test]
fn rejects_names_that_differ_only_in_case() {
    check(
        "[team.Ops]\nplugins = 'plugins'\n[team.ops]\nplugins = 'cache'\n[team.ops.provider.wiki]\n[team.ops.provider.WIKI]\n",
        expect![[r#"
            larder.toml:3: team.ops: `ops` differs from `Ops` only in case, and some systems would use the same files for both: choose another name
            larder.toml:5: team.ops.provider.wiki: `wiki` differs from `WIKI` only in case, and some systems would use the same files for both: choose another name"#]],
    );
    check(
        "[team.a.provider.wiki]\n[team.b.provider.WIKI]\n",
        expect!["no error"],
    );
}

#[test]
fn rejects_folders_of_teams_that_differ_only_in_case() {
    check(
        "[team.a]\nplugins = 'plugins'\n[team.b]\nplugins = 'Plugins/b'\n",
        expect![
            "larder.toml:4: team.b.plugins: FOLDER/Plugins/b overlaps with the folder of team a: choose another one"
        ],
    );
}

#[test]
fn a_file_may_have_the_name_of_a_builtin_component_in_another_case() {
    let folder = Folder::new();
    std::fs::write(folder.0.path().join("plugins/Wiki.wasm"), "").unwrap();
    let text = "plugins = 'plugins'\n[provider.wiki]\ncomponent = 'builtin:files'\n";
    let read = folder.read_with(text, &[], &Overrides::default());
    let error = read.err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("Wiki.wasm is a provider of the same name")),);
}

#[test]
fn lines_may_end_as_on_windows() {
    let folder = Folder::new();
    let text = "plugins = 'plugins' # here\n[server]\nlisten = '127.0.0.1:1'\n[provider.x]\npriority = 2\n";
    let windows = text.replace('\n', "\r\n");
    assert_eq!(folder.shown(&windows), folder.shown(text));
    let error = folder.read_with(
        &format!("{windows}typo = 1\r\n"),
        &[],
        &Overrides::default(),
    );
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("larder.toml:6: provider.x.typo"),
        "{error}"
    );
}

#[test]
fn the_line_break_at_the_end_of_a_secret_file_is_no_part_of_the_secret() {
    let folder = Folder::new();
    let text =
        "plugins = 'plugins'\n[secret.s]\nfile = 'keys/wiki'\n[provider.x]\nsecrets = ['s']\n";
    let secrets = |content: &str| {
        std::fs::write(folder.0.path().join("keys/wiki"), content).unwrap();
        let config = folder.read(text);
        let provider = ProviderName::parse("x").unwrap();
        only_team(&config).providers[&provider]
            .grant
            .secrets
            .clone()
    };
    let expected = secrets("hush-hush");
    for end in ["\n", "\r\n"] {
        assert_eq!(secrets(&format!("hush-hush{end}")), expected, "{end:?}");
    }
    assert_ne!(secrets("hush-hush\n\n"), expected);
}
