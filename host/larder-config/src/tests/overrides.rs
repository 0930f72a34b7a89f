//! Tests of options that change or replace values of the file: the command line, variables, and tables of settings.

use super::*;

#[test]
fn the_command_line_overrides_the_file() {
    let folder = Folder::new();
    let listen = ListenAddress::from(SocketAddr::from(([127, 0, 0, 1], 0)));
    let overrides = Overrides {
        plugins: Some("docs".into()),
        listen: Some(listen.clone()),
        ..Overrides::default()
    };
    let config = folder
        .read_with(
            "plugins = 'gone'\nserver.listen = '0.0.0.0:1'",
            &[],
            &overrides,
        )
        .unwrap();
    assert_eq!(config.endpoint.listen, listen);
    assert!(
        config.teams[&TeamName::default_team()]
            .plugins
            .ends_with("docs")
    );
    let gone = Overrides {
        plugins: Some("gone".into()),
        ..Overrides::default()
    };
    // A server waits for a missing folder. Commands that run once report the missing folder.
    check_with("", &gone, expect!["no error"]);
    let error = folder
        .read_with("", &[], &gone)
        .unwrap()
        .require_plugins_folders()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("--plugins: there is no folder") && error.contains("gone"),
        "{error}"
    );
    std::fs::write(folder.0.path().join("gone"), "").unwrap();
    let error = folder.read_with("", &[], &gone).unwrap_err().to_string();
    assert!(
        error.starts_with("--plugins: ") && error.ends_with("gone is not a folder"),
        "{error}"
    );
}

#[test]
fn larder_log_overrides_the_filter() {
    let folder = Folder::new();
    let filter = |env: &[(&str, &str)]| {
        let read = folder.read_with("server.log.filter = 'warn'", env, &Overrides::default());
        read.map(|config| config.log.filter)
            .unwrap_or_else(|error| error.to_string())
    };
    assert_eq!(filter(&[]), "warn");
    assert_eq!(filter(&[("LARDER_LOG", "")]), "warn");
    assert_eq!(filter(&[("LARDER_LOG", "larder=debug")]), "larder=debug");
    expect![[r#"LARDER_LOG: not a filter: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5"#]].assert_eq(&filter(&[("LARDER_LOG", "a=b=c")]));
}

#[test]
fn substitutes_variables_in_every_string() {
    let folder = Folder::new();
    let env = [("NAME", "docs"), ("SECRET", "x${NAME}")];
    let text =
        "plugins = '${NAME}'\nprovider.a.settings.t = '${SECRET}'\nprovider.a.dirs = ['${NAME}']";
    let config = folder.read_with(text, &env, &Overrides::default()).unwrap();
    let grant = &only_team(&config).providers[&ProviderName::parse("a").unwrap()].grant;
    assert!(
        config.teams[&TeamName::default_team()]
            .plugins
            .ends_with("docs")
            && grant.dirs[0].guest == "/docs"
    );
    assert_eq!(grant.settings["t"], "x${NAME}");
}

#[test]
fn a_list_or_a_table_of_settings_is_json() {
    let folder = Folder::new();
    let text = "[provider.a.settings]\nlist = [1, 2.5, true, 'x']\nplain = 2.0\nday = 2020-01-01\n\
                [[provider.a.settings.items]]\npath = '${NAME}'\nwhen = 2020-01-01\n";
    let config = folder
        .read_with(text, &[("NAME", "docs")], &Overrides::default())
        .unwrap();
    let settings = &only_team(&config).providers[&ProviderName::parse("a").unwrap()]
        .grant
        .settings;
    let json = |name: &str| serde_json::from_str::<serde_json::Value>(&settings[name]).unwrap();
    assert_eq!(json("list"), serde_json::json!([1, 2.5, true, "x"]));
    assert_eq!(
        json("items"),
        serde_json::json!([{ "path": "docs", "when": "2020-01-01" }])
    );
    assert_eq!(
        (settings["plain"].as_str(), settings["day"].as_str()),
        ("2", "2020-01-01")
    );
}
