//! `larder check` over broken configurations: each error must be reported with its key and a correct value. The
//! expected output is a golden file; `UPDATE_EXPECT=1` writes it.

use std::net::TcpListener;

use expect_test::expect_file;

use crate::support::process::WorkDir;

/// Configurations that cannot work, or that work differently than expected. `ADDRESS` is an address in use.
const CONFIGURATIONS: &[&str] = &[
    "colour = 'red'",
    "[server]\nlisten = 'docs.example.com:80'",
    "[server]\nlisten = 'ADDRESS'",
    "[server]\nlisten = '192.0.2.1:7878'\nhosts = ['docs.example.com']\nunauthenticated = true",
    "[server]\nlisten = '0.0.0.0:7878'",
    "[server]\nlisten = '127.0.0.1:7999'\n[admin]\nlisten = '127.0.0.1:7999'",
    "[server]\nhosts = ['https://docs.example.com/mcp']",
    "[server]\nhosts = ['*.example.com']",
    "[server]\norigins = ['*']",
    "[server]\norigins = ['app.example.com']",
    "[server]\nsessions = 0",
    "[server]\npage_size = -1",
    "[server.log]\nfilter = 'verbose'",
    "[server.log]\nfilter = 'hyper=debug'",
    "[[auth.tokens]]\nname = 'ann'\ndigest = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'\nexpires = 2020-01-31",
    "[[auth.tokens]]\nname = 'ann'\ndigest = 'secret'",
    "[limits]\nmemory = '999GiB'",
    "[limits]\nmemory = '1.5 gigs'",
    "[limits]\ntimeout = 10",
    "[limits]\nconcurrency = 'many'",
    "plugins = 'gone'",
    "[provider.fiels]\ndirs = ['plugins']",
    "[provider.files]",
    "[provider.files]\ndirs = ['gone']",
    "[provider.files]\ndirs = ['plugins']\n[provider.files.settings]\nmax-bytes = '1MiB'",
    "[provider.files]\ndirs = ['plugins']\nhosts = ['https://example.com/path']",
    "[provider.files]\ndirs = ['plugins']\nsecrets = ['key']",
    "[secret.key]\nenv = 'UNSET'",
    "[secret.key]\nfile = 'pin'",
    "[telemetry]\notlp = 'collector'",
    "[client]\nurl = 'docs.example.com'",
];

/// Configurations of a provider that declares its settings.
const SETTINGS: &[&str] = &["[provider.interactive.settings]\nmax_size = '1MiB'"];

#[test]
fn broken_configurations_are_reported() {
    let all = report("files", CONFIGURATIONS) + &report("interactive", SETTINGS);
    expect_file!["check_configurations.txt"].assert_eq(&all);
}

#[test]
fn warnings_are_problems_with_strict() {
    let work_dir = WorkDir::with_guests("files");
    assert_eq!(work_dir.larder("check").code, Some(0));
    let strict = work_dir.larder("check --strict");
    assert_eq!(strict.code, Some(1), "{}", strict.stderr);
    assert!(
        strict
            .stderr
            .contains("warning: files has neither resources nor templates"),
        "{}",
        strict.stderr
    );
}

/// The output of `larder check` for each configuration, with this component.
fn report(guest: &str, configurations: &[&str]) -> String {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let memory = regex_lite::Regex::new(r"this machine \([^)]*\)").unwrap();
    let default_port =
        regex_lite::Regex::new(r"(?m)^.*127\.0\.0\.1:787[89] is in use.*\n").unwrap();
    let mut all = String::new();
    let count = regex_lite::Regex::new(r"no problems found, but .*").unwrap();
    let mut work_dir = WorkDir::with_guests(guest).file("pin", "1234\n");
    let folder = std::fs::canonicalize(work_dir.path("."))
        .unwrap()
        .display()
        .to_string();
    for configuration in configurations {
        work_dir = work_dir.file("larder.toml", &configuration.replace("ADDRESS", &address));
        let output = work_dir.larder("check");
        let stderr = output
            .stderr
            .replace(&address, "ADDRESS")
            .replace(&folder, "FOLDER");
        let stderr = memory.replace_all(&stderr, "this machine (…)");
        // Another test, or a server of this machine, may use the default ports.
        let stderr = default_port.replace_all(&stderr, "");
        let stderr = count.replace_all(&stderr, "no problems found");
        all += &format!(
            "{configuration}\n=> exit code {}\n{stderr}\n",
            output.code.unwrap()
        );
    }
    all
}
