//! Grants of folders that contain files of the host.

use super::*;

const FILES: &str = "
state_dir = 'state'
[compiler]
cache_dir = 'cache'
[secret.key]
file = 'keys/wiki'
[audit]
file = 'audit.jsonl'
";

fn with_dirs(dirs: &str) -> String {
    format!("{FILES}[provider.wiki]\ndirs = {dirs}\n")
}

#[test]
fn refuses_write_access_to_files_of_the_host() {
    check(
        &with_dirs(
            "[{ host = 'plugins', access = 'write' }, { host = '.', guest = '/all', access = 'write' }]",
        ),
        expect![[r#"
            larder.toml:10: provider.wiki.dirs[0]: gives access to the plugins folder (FOLDER/plugins), which the provider could change: grant another folder
            larder.toml:10: provider.wiki.dirs[1]: gives access to the configuration file (FOLDER/larder.toml), which the provider could change: grant another folder"#]],
    );
}

#[test]
fn refuses_read_access_to_secrets_state_and_cache() {
    check(
        &with_dirs("['keys', 'cache', '/']"),
        expect![[r#"
        larder.toml:10: provider.wiki.dirs[0]: gives access to the file of a secret (FOLDER/keys/wiki), which the provider could read: grant another folder
        larder.toml:10: provider.wiki.dirs[1]: gives access to the cache of compiled components (FOLDER/cache), which the provider could read: grant another folder
        larder.toml:10: provider.wiki.dirs[2]: gives access to the cache of compiled components (FOLDER/cache), which the provider could read: grant another folder"#]],
    );
}

#[test]
fn warns_of_read_access_to_the_configuration() {
    let folder = Folder::new();
    let text = "[audit]\nfile = 'audit.jsonl'\n[provider.wiki]\ndirs = ['plugins', { host = '.', guest = '/all' }]\n";
    let warnings = folder.read(text).warnings;
    let shown: Vec<_> = warnings
        .iter()
        .map(|warning| warning.in_file(None))
        .collect();
    let shown = shown
        .join("\n")
        .replace(&folder.0.path().display().to_string(), "FOLDER");
    let expected = expect![
        "configuration:4: provider.wiki.dirs[1]: gives access to the configuration file (FOLDER/larder.toml), which the provider could read: grant another folder"
    ];
    expected.assert_eq(&shown);
}
