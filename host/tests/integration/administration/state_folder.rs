//! Commands find the state folder of a server that got it from its service manager, as the shipped unit of systemd sets
//! it: they request the folder from the server, or search for the folder in which something is stored.

use std::net::TcpListener;

use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::{RunningProcess, WorkDir};

/// A server whose service manager determines its state folder, and commands without that variable.
struct Service {
    work_dir: WorkDir,
    server: RunningProcess,
    url: String,
}

impl Service {
    /// Starts a server with this variable, a request and a stored value.
    fn start(admin: &str, variable: (&str, &str)) -> Self {
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let config = format!(
            "[admin]\nlisten = '{address}'\n{admin}\n[provider.key_value]\nkey_value = ['shared']\n[provider.x]\n"
        );
        let work_dir = WorkDir::with_guests("key_value x@echo")
            .file("plugins/x.toml", "env = ['HOME']\n")
            .file("larder.toml", &config);
        let path = work_dir.path(variable.1);
        let variable = (variable.0, path.to_str().unwrap());
        // As for a service, the home folder is different from the home folder of the operator.
        let home = work_dir.path("home");
        let env = [
            ("XDG_STATE_HOME", ""),
            ("HOME", home.to_str().unwrap()),
            variable,
        ];
        let mut server = work_dir.start_with(&env, "serve --listen 127.0.0.1:0");
        let line = server.wait_for_stderr("serves http://");
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap()
            .to_owned();
        let service = Self {
            work_dir,
            server,
            url,
        };
        let set = service.read("key-value://set/shared/k/1");
        assert_eq!(set, "ok: ()");
        service
    }

    fn read(&self, uri: &str) -> String {
        self.work_dir
            .larder(&format!("read {uri} --url {}", self.url))
            .stdout
            .trim_end()
            .to_owned()
    }

    fn approve(&self) {
        let listed = || {
            self.work_dir
                .larder("approve")
                .stdout
                .contains("variable HOME")
        };
        eventually_blocking(SLOW_WAIT, "the request is listed", listed);
        let approved = self.work_dir.approve("x", "");
        assert_eq!(approved.code, Some(0), "{}", approved.stderr);
        let is_served = || self.read("echo://hello").starts_with("uri: echo://hello");
        eventually_blocking(SLOW_WAIT, "it is approved and serves", is_served);
    }

    fn assert_check_knows_the_approval(&self) {
        let checked = self.work_dir.larder("check --json").json();
        let grants = checked["grants"].as_array().unwrap();
        let x = grants
            .iter()
            .find(|grant| grant["provider"] == "x")
            .unwrap_or_else(|| panic!("{checked}"));
        assert_eq!(x["approved"][0], "variable HOME", "{checked}");
    }
}

#[test]
fn commands_ask_the_running_server() {
    let service = Service::start("", ("STATE_DIRECTORY", "service-state"));
    service.approve();
    service.assert_check_knows_the_approval();
    let listed = service.work_dir.larder("state list");
    let folder = service.work_dir.path("service-state");
    assert!(
        listed
            .stdout
            .starts_with(&format!("state folder {}", folder.display())),
        "{}",
        listed.stdout
    );
    // The server deletes the values that it uses.
    let forgotten = service.work_dir.larder("forget key_value --yes");
    assert_eq!(forgotten.code, Some(0), "{}", forgotten.stderr);
    assert_eq!(service.read("key-value://get/shared/k"), "ok: None");
    let status = service.work_dir.larder("status").stdout;
    let cache = concat!("cache in ", env!("CARGO_TARGET_TMPDIR"), "/larder");
    for part in [
        &format!("state in {}", folder.display()),
        cache,
        "/larder.toml",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    // Nothing was stored in the folder in which the commands would search by themselves.
    assert!(!service.work_dir.path("state").exists());
}

#[test]
fn commands_without_credentials_look_where_something_is_stored() {
    let token = "token = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'";
    let service = Service::start(token, ("HOME", ""));
    assert_ne!(
        service.work_dir.larder("status").code,
        Some(0),
        "the server requires a token"
    );
    service.approve();
    service.assert_check_knows_the_approval();
    let Service {
        work_dir, server, ..
    } = service;
    server.signal("TERM");
    server.wait();
    let forgotten = work_dir.larder("forget key_value --yes");
    assert_eq!(forgotten.code, Some(0), "{}", forgotten.stderr);
    assert!(
        forgotten.stderr.contains("deleted 1 value "),
        "{}",
        forgotten.stderr
    );
}

#[test]
fn the_server_of_another_configuration_is_not_asked() {
    let service = Service::start("", ("STATE_DIRECTORY", "service-state"));
    let other = std::fs::read_to_string(service.work_dir.path("larder.toml")).unwrap();
    std::fs::write(service.work_dir.path("other.toml"), other).unwrap();
    let listed = service
        .work_dir
        .larder("state list --config other.toml")
        .stdout;
    let own = service.work_dir.path("state/larder");
    assert!(
        listed.starts_with(&format!("state folder {}", own.display())),
        "{listed}"
    );
}
