//! The trial of a language: the provider in `xtask/trials` with correct and faulty behaviour on request. The trial
//! replaces the source of a project. A server with default limits serves the component of the project. During reads, the
//! trial replaces the component, and then the server is restarted.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::folder;
use super::language::Language;
use super::project::{Project, greeting};
use super::web::{self, WebServer};
use crate::packaging::get;
use crate::run::{command, larder, root};
use crate::server::RunningServer;
use crate::wait::wait_for;

/// The end of a text of two megabytes. A read of the text must succeed within the limits.
const LAST_LINE: &str = "grüße zum schluss";

/// The requested path, whether the read succeeds, and a part of the content or of the error message.
pub(super) const CASES: [(&str, bool, &str); 13] = [
    ("revision", true, "first"),
    ("http", true, web::BODY),
    (
        "elsewhere",
        false,
        "is not granted; its operator can allow it with `hosts = ",
    ),
    ("stores", true, "a,b 3 false true false 0"),
    ("stores-own", false, "it needs the grant `key_value = ["),
    ("long", true, LAST_LINE),
    ("/a/b%20c", true, "a/b c"),
    ("garbled", false, "no caf"),
    ("raises", false, "no such luck"),
    ("ends", false, "the provider `trial` failed: it "),
    ("eats", false, "memory"),
    ("spins", false, "the provider `trial` failed: it "),
    ("nothing", false, "Resource not found"),
];

/// The case of languages with sockets.
const SOCKET_CASE: (&str, bool, &str) = ("socket", true, web::BODY);

/// A project whose source is replaced by the trial, with a configuration that has the necessary grants.
pub(super) struct Trial<'a> {
    project: &'a Project<'a>,
    folder: PathBuf,
    granted: WebServer,
    /// No request may reach this server.
    elsewhere: WebServer,
}

impl<'a> Trial<'a> {
    pub(super) fn new(project: &'a Project<'a>) -> Result<Self> {
        let folder = folder::empty(project.language.name, "trial")?;
        fs::create_dir(folder.join("plugins"))?;
        fs::create_dir(folder.join("folder"))?;
        let lines = (0..)
            .map(|line| format!("{line}: schöne Grüße\n"))
            .take(95_000);
        fs::write(
            folder.join("folder/long.txt"),
            lines.collect::<String>() + LAST_LINE,
        )?;
        let trial = Self {
            project,
            folder,
            granted: WebServer::start()?,
            elsewhere: WebServer::start()?,
        };
        fs::write(trial.config(), trial.config_text())?;
        Ok(trial)
    }

    /// The path of the configuration.
    pub(super) fn config(&self) -> PathBuf {
        self.folder.join("larder.toml")
    }

    /// All limits are defaults except the CPU time, to make the test faster, and the timeout, because a long file that
    /// is read in small parts takes long on a busy machine. Code that is not optimised yet needs 300 ms for that file in
    /// JavaScript on an idle machine.
    fn config_text(&self) -> String {
        format!(
            "plugins = \"plugins\"\nstate_dir = \"state\"\n[admin]\nlisten = \"off\"\n\
             [provider.{name}]\nhosts = [{{ host = \"{granted}\", private = true }}]\n\
             tcp = [{{ host = \"{ip}\", port = {port}, private = true }}]\n\
             limits = {{ cpu_time = \"2s\", timeout = \"60s\" }}\n\
             dirs = [{{ host = \"folder\", guest = \"/folder\" }}]\nkey_value = [\"shared\"]\n\
             settings = {{ granted = \"{granted}/\", elsewhere = \"{elsewhere}/\" }}\n",
            name = self.project.name,
            granted = self.granted.url(),
            ip = self.granted.address().ip(),
            port = self.granted.address().port(),
            elsewhere = self.elsewhere.url(),
        )
    }

    /// Replaces the component of the new project by the trial during reads, checks all cases, and restarts the server.
    pub(super) fn check(&self) -> Result<()> {
        let project = self.folder.join("project.wasm");
        fs::copy(self.project.component(), &project)?;
        self.write("first")?;
        let trial = self.project.build()?;
        self.with_server(|server| self.check_and_replace(server, &project, &trial))?;
        let before = self.compiled_files()?;
        self.with_server(|server| {
            wait_for("the trial after a restart", || self.serves(server, "first")).map(drop)
        })?;
        let is_cached = !before.is_empty() && self.compiled_files()? == before;
        ensure!(
            is_cached,
            "the component was compiled again after a restart"
        );
        ensure!(
            self.elsewhere.request_count() == 0,
            "a request to a host without a grant was sent"
        );
        Ok(())
    }

    /// Checks all cases with the development component of this `larder dev`, and replaces the program.
    pub(super) fn check_development(&self, server: &RunningServer) -> Result<()> {
        let before = self.project.output.contents().len();
        let is_served = |revision| Ok(self.serves(server, revision).unwrap_or(false));
        self.write("first")?;
        wait_for("the first program", || is_served("first"))?;
        self.check_cases(server)?;
        self.check_log(before)?;
        self.write("second")?;
        wait_for("the second program", || is_served("second")).map(drop)
    }

    /// Writes a revision: the source, in which this name replaces `first`.
    fn write(&self, revision: &str) -> Result<()> {
        let Language { trial, source, .. } = self.project.language;
        let trials = root().join("xtask/trials");
        let text = fs::read_to_string(trials.join(trial.trim_start_matches("src/")))?;
        let text = text.replace("\"first\"", &format!("\"{revision}\""));
        let text = text.replace("trial://", &format!("{}://", self.project.name));
        fs::write(self.project.here.join(trial), text)?;
        if source != trial {
            fs::copy(trials.join(source), self.project.here.join(source))?;
        }
        Ok(())
    }

    fn with_server(&self, check: impl FnOnce(&RunningServer) -> Result<()>) -> Result<()> {
        let server = RunningServer::start(&self.config(), self.project.output)?;
        let result = check(&server);
        result.and(server.stop())
    }

    fn check_and_replace(
        &self,
        server: &RunningServer,
        project: &Path,
        trial: &Path,
    ) -> Result<()> {
        let file = self
            .folder
            .join(format!("plugins/{}.wasm", self.project.name));
        fs::copy(project, &file)?;
        let is_served = || Ok(self.read(server, "hello")? == (true, greeting("world")));
        wait_for("the project", is_served)?;
        let before = self.project.output.contents().len();
        self.replace(server, &file, trial)?;
        self.check_cases(server)?;
        self.check_log(before)?;
        self.check_optimisation(server)
    }

    fn check_cases(&self, server: &RunningServer) -> Result<()> {
        let socket_case = self.project.language.has_sockets.then_some(SOCKET_CASE);
        for (path, expect_success, expected) in CASES.into_iter().chain(socket_case) {
            let (success, text) = self.read(server, path)?;
            let expected = expected.replace("`trial`", &format!("`{}`", self.project.name));
            let is_expected =
                success == expect_success && text.to_lowercase().contains(&expected.to_lowercase());
            let text: String = text.chars().take(1_000).collect();
            ensure!(is_expected, "{path}: expected `{expected}`, got {text:?}");
            ensure!(
                self.serves(server, "first")?,
                "the provider does not respond after {path}"
            );
        }
        Ok(())
    }

    /// Checks that the log, after its first bytes, has the place of an error and the message of a guest that ended.
    fn check_log(&self, from: usize) -> Result<()> {
        let language = self.project.language;
        for expected in language
            .error_location
            .into_iter()
            .chain([language.exit_message])
        {
            let is_logged = || {
                let log = self.project.output.contents();
                let mut lines = log.get(from..).unwrap_or_default().lines();
                Ok(lines.any(|line| line.starts_with("larder: ") && line.contains(expected)))
            };
            wait_for(&format!("`{expected}` in the log"), is_logged)?;
        }
        Ok(())
    }

    /// Replaces the component of the project by the trial, and reads a resource of the project until the read fails. Then
    /// the trial, which does not have this resource, must be served.
    fn replace(&self, server: &RunningServer, file: &Path, trial: &Path) -> Result<()> {
        // The file is overwritten in place instead of replaced atomically, because many build tools do the same.
        fs::copy(trial, file)?;
        let is_replaced = || {
            let (success, text) = self.read(server, "hello")?;
            let is_expected = if success {
                text == greeting("world")
            } else {
                self.serves(server, "first")?
            };
            ensure!(is_expected, "read {text:?} while the component is replaced");
            Ok(!success)
        };
        wait_for("the trial", is_replaced).map(drop)
    }

    /// Reads until the code is optimised. The server first serves a component with libraries without optimisation, and
    /// compiles it again in the background.
    fn check_optimisation(&self, server: &RunningServer) -> Result<()> {
        let is_optimised = || {
            ensure!(
                self.serves(server, "first")?,
                "a read fails before the code is optimised"
            );
            has_optimised_code(server)
        };
        wait_for("the optimised code of the trial", is_optimised).map(drop)
    }

    fn serves(&self, server: &RunningServer, revision: &str) -> Result<bool> {
        let (success, text) = self.read(server, "revision")?;
        Ok(success && text == revision)
    }

    /// Reads a resource. Returns whether the read succeeded, and the content or the error message.
    fn read(&self, server: &RunningServer, path: &str) -> Result<(bool, String)> {
        let uri = format!("{}://{path}", self.project.name);
        let output = command(larder())
            .args(["read", &uri, "--url", &server.url])
            .output()?;
        let text = if output.status.success() {
            output.stdout
        } else {
            output.stderr
        };
        Ok((output.status.success(), String::from_utf8(text)?))
    }

    /// The inode numbers of the files with compiled code. A file that is written again gets a new inode.
    fn compiled_files(&self) -> Result<BTreeMap<PathBuf, u64>> {
        let mut files = BTreeMap::new();
        for item in fs::read_dir(folder::of(self.project.language.name, "cache/larder"))? {
            let item = item?;
            // Other files are indexes that are rewritten at each start.
            if item.path().extension().is_some_and(|kind| kind == "cwasm") {
                files.insert(item.path(), item.metadata()?.ino());
            }
        }
        Ok(files)
    }
}

fn has_optimised_code(server: &RunningServer) -> Result<bool> {
    let admin = server
        .admin
        .as_deref()
        .context("the server has no admin address")?;
    Ok(get(&format!("{admin}/metrics"))?
        .lines()
        .any(|line| line == "larder_unoptimised_components 0"))
}
