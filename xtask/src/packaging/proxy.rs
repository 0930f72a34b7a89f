//! The example for nginx: requests with TLS and a path prefix reach the server, and a notification passes at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::{configure, deploy, larder_command, serve, work_folder};
use crate::clients::copy_providers;
use crate::run::{Output, command};
use crate::step::Outcome;
use crate::tools;

/// Replacements for the parts of the example that belong to a real machine.
const MAIN: &str = "daemon off;\nmaster_process off;\nerror_log stderr;\npid WORK/nginx.pid;\nevents {}\n\
http {\n  access_log off;\n  client_body_temp_path WORK/body;\n  proxy_temp_path WORK/proxy;\n  \
fastcgi_temp_path WORK/fastcgi;\n  uwsgi_temp_path WORK/uwsgi;\n  scgi_temp_path WORK/scgi;\n  \
include WORK/larder.conf;\n}\n";
const CERTIFICATE: &str = "set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem
openssl req -newkey rsa:2048 -nodes -subj /CN=docs.example.com -keyout key.pem -out server.csr
echo subjectAltName=DNS:docs.example.com,IP:127.0.0.1 > server.ext
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile server.ext -out cert.pem";
/// More changes than a loaded machine needs for one notification.
const CHANGES: usize = 300;
const INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    for (program, package) in [("nginx", "nginx-light"), ("openssl", "openssl")] {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, package)? {
            return tools::missing(&reason);
        }
    }
    let work = work_folder("proxy")?;
    let config = "[server]\nhosts = [\"docs.example.com\"]\n[admin]\nlisten = \"off\"\n\
                  [provider.files]\ndirs = [{ host = \"docs\", guest = \"/docs\" }]\n";
    let config = configure(&work, config)?;
    copy_providers(&work.join("plugins"), &["files"])?;
    fs::create_dir_all(work.join("docs"))?;
    fs::write(work.join("docs/note.txt"), "first")?;
    let server = serve(&config, output)?;
    let proxy = Proxy::start(&work, &server.url)?;
    let result = proxy.check(output, &work);
    drop(proxy);
    server.stop()?;
    result.map(|()| Outcome::Passed)
}

/// Starts nginx in the foreground. `config` is a part of the block `http`.
pub(crate) fn start_nginx(work: &Path, config: &str) -> Result<Child> {
    fs::write(work.join("larder.conf"), config)?;
    let user = if rustix::process::geteuid().is_root() {
        "user root;\n"
    } else {
        ""
    };
    let main = MAIN.replace("WORK", &work.display().to_string());
    fs::write(work.join("nginx.conf"), format!("{user}{main}"))?;
    let log = fs::File::create(work.join("nginx.log"))?;
    let mut nginx = command("nginx");
    nginx
        .arg("-p")
        .arg(work)
        .arg("-c")
        .arg(work.join("nginx.conf"))
        .stdout(Stdio::null())
        .stderr(log);
    nginx.spawn().context("nginx")
}

/// A running nginx. It is stopped when it is dropped.
struct Proxy {
    child: Child,
    port: u16,
    authority: PathBuf,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // This fails only if nginx has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Proxy {
    fn start(work: &Path, server_url: &str) -> Result<Self> {
        ensure!(
            tools::succeeds(command("sh").args(["-c", CERTIFICATE]).current_dir(work)),
            "openssl created no certificate"
        );
        let port = std::net::TcpListener::bind("127.0.0.1:0")?
            .local_addr()?
            .port();
        let address = server_url
            .trim_start_matches("http://")
            .trim_end_matches("/mcp");
        let folder = work.display().to_string();
        let example = fs::read_to_string(deploy("proxy/nginx.conf"))?
            .replace("127.0.0.1:7878", address)
            .replace("listen 443", &format!("listen 127.0.0.1:{port}"))
            .replace(
                "/etc/ssl/docs.example.com.pem",
                &format!("{folder}/cert.pem"),
            )
            .replace(
                "/etc/ssl/docs.example.com.key",
                &format!("{folder}/key.pem"),
            );
        Ok(Self {
            child: start_nginx(work, &example)?,
            port,
            authority: work.join("ca.pem"),
        })
    }

    fn check(&self, output: &Output, work: &Path) -> Result<()> {
        super::systemd::eventually(|| self.read("127.0.0.1"))
            .with_context(|| fs::read_to_string(work.join("nginx.log")).unwrap_or_default())?;
        // The server accepts this name, because the configuration contains it, and nginx passes the name on.
        self.read("docs.example.com")?;
        output.run(
            self.larder(&["read", "test://static-text"])
                .args(["--protocol", "2025-11-25"]),
        )?;
        self.watch(work)
    }

    /// A command that uses the server through nginx.
    fn larder(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = larder_command(arguments);
        command
            .arg("--url")
            .arg(format!("https://127.0.0.1:{}/team/mcp", self.port));
        command.arg("--ca").arg(&self.authority);
        command
    }

    /// Lists the tools under a name of the server.
    fn read(&self, host: &str) -> Result<()> {
        let mut curl = command("curl");
        curl.args([
            "--silent",
            "--show-error",
            "--fail",
            "--max-time",
            "60",
            "--cacert",
        ])
        .arg(&self.authority);
        curl.arg("--resolve")
            .arg(format!("docs.example.com:{}:127.0.0.1", self.port));
        curl.args(["--header", "content-type: application/json"]);
        curl.args(["--header", "accept: application/json, text/event-stream"]);
        curl.args(["--data", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}"#]);
        let response = curl
            .arg(format!("https://{host}:{}/team/mcp", self.port))
            .output()
            .context("curl")?;
        let (body, error) = (
            String::from_utf8_lossy(&response.stdout),
            String::from_utf8_lossy(&response.stderr),
        );
        ensure!(body.contains("serverInfo"), "{host}: {error}{body}");
        Ok(())
    }

    /// Changes a file until a watcher behind nginx is notified.
    fn watch(&self, work: &Path) -> Result<()> {
        let mut watch = self.larder(&["watch", "file:///docs/note.txt", "--count", "1"]);
        let mut watcher = watch
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("larder watch")?;
        for change in 0..CHANGES {
            if let Some(status) = watcher.try_wait()? {
                ensure!(status.success(), "`larder watch` ended with {status}");
                return Ok(());
            }
            fs::write(work.join("docs/note.txt"), format!("change {change}"))?;
            std::thread::sleep(INTERVAL);
        }
        // This fails only if the process has just ended.
        let _ = watcher.kill();
        let _ = watcher.wait();
        bail!("no notification came through nginx")
    }
}
