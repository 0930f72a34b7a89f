//! The server of the test of `postgres`: PostgreSQL from Debian, with SCRAM and TLS, in a folder of its own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::Surroundings;
use crate::run::{Output, command, target};
use crate::step::Outcome;
use crate::tools;

/// The passwords of the owner and of the role that can only read.
const OWNER_PASSWORD: &str = "owner-password";
const PASSWORD: &str = "reader ' password";
/// The folder in which Debian installs the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// More than a loaded machine needs to start the server.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const ROLES: &str =
    "CREATE ROLE reader LOGIN PASSWORD 'reader '' password'; CREATE DATABASE garden;\n";
const TABLES: &str = r#"
CREATE TABLE plants (id int PRIMARY KEY, name text, colour text, height float8, data jsonb, photo bytea);
COMMENT ON TABLE plants IS 'What grows';
INSERT INTO plants SELECT i, 'Rose ' || i, 'red', i + 0.5 FROM generate_series(1, 2999) AS i;
INSERT INTO plants VALUES (3000, 'Lily', 'white', 0.4, '{"petals": 6}', '\xff00');
CREATE VIEW tall AS SELECT name FROM plants WHERE height > 1000;
CREATE TABLE hidden (id int PRIMARY KEY);
CREATE SCHEMA private CREATE TABLE secret (id int PRIMARY KEY);
CREATE SCHEMA "Store 1" CREATE TABLE "odd "" name" (key text PRIMARY KEY, value text);
INSERT INTO "Store 1"."odd "" name" VALUES ('ü ''', 'umlaut'), ('a/b', 'Zinnia');
CREATE FUNCTION set_colour(plant text) RETURNS void LANGUAGE sql AS 'UPDATE plants SET colour = NULL WHERE name = plant';
GRANT USAGE ON SCHEMA "Store 1", private TO reader;
GRANT SELECT ON plants, tall, "Store 1"."odd "" name", private.secret TO reader;
"#;

/// A certificate authority, and a certificate of the server.
const CERTIFICATES: &str = "set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=authority -keyout ca.key -out ca.pem
openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr
echo subjectAltName=IP:127.0.0.1 > server.ext
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile server.ext -out server.pem
";

/// Runs the server until the standard input ends, so that the server also ends if this process is killed.
const RUN: &str = "\"$@\" & server=$!
cat > /dev/null
kill -INT $server
wait $server
";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "postgres", prepare)
}

pub(super) fn prepare(output: &Output, folder: &Path) -> Result<Surroundings> {
    if !target("plugins/postgres.wasm").exists() {
        return Surroundings::missing(
            "the provider postgres was not built, because there is no C compiler for WASI",
        );
    }
    for (program, package) in [("pg_ctlcluster", "postgresql"), ("openssl", "openssl")] {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, package)? {
            return Surroundings::missing(&reason);
        }
    }
    let Some(programs) = newest_version() else {
        return Surroundings::missing(
            "the server of PostgreSQL is not installed; get the package postgresql",
        );
    };
    let work = folder.parent().context("the folder is in a work folder")?;
    // Each of these providers has other settings in `larder.toml`.
    fs::create_dir_all(work.join("plugins"))?;
    for name in ["plain", "untrusted", "unauthenticated", "ungranted"] {
        fs::copy(
            target("plugins/postgres.wasm"),
            work.join("plugins").join(format!("{name}.wasm")),
        )?;
    }
    let server = Server::start(output, &programs)?;
    let port = server.port;
    server.run_sql(output, "postgres", ROLES)?;
    server.run_sql(output, "garden", TABLES)?;
    let certificate = server.folder.join("ca.pem").display().to_string();
    let variables = vec![
        ("ADDRESS", format!("127.0.0.1:{port}")),
        ("PORT", port.to_string()),
        ("PASSWORD", PASSWORD.to_owned()),
        ("CERTIFICATE", certificate),
        ("DATABASE_URL", server.url("garden")),
    ];
    Ok(Surroundings {
        variables,
        servers: vec![Box::new(server)],
        ..Surroundings::default()
    })
}

/// The folder with the programs of the newest version.
fn newest_version() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS)
        .ok()?
        .filter_map(|folder| Some(folder.ok()?.path()));
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions
        .filter(|path| path.join("bin/initdb").exists())
        .max_by_key(number)?;
    Some(newest.join("bin"))
}

struct Server {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Server {
    /// Starts a server with an empty database on a free port.
    fn start(output: &Output, programs: &Path) -> Result<Self> {
        // A folder that the user `postgres` can reach: the repository may be in the home of another user.
        let folder = PathBuf::from(format!("/tmp/larder-postgres-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        output.run(
            command("sh")
                .args(["-c", CERTIFICATES])
                .current_dir(&folder),
        )?;
        fs::write(folder.join("password"), OWNER_PASSWORD)?;
        fs::set_permissions(folder.join("server.key"), fs::Permissions::from_mode(0o600))?;
        if rustix::process::geteuid().is_root() {
            output.run(command("chown").args(["-R", "postgres:"]).arg(&folder))?;
        }
        let mut initdb = as_server(&programs.join("initdb"));
        initdb.args([
            "--auth=scram-sha-256",
            "--username=owner",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        initdb
            .args(["--pwfile=password", "--pgdata=data"])
            .current_dir(&folder);
        output.run(&mut initdb)?;

        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut postgres = as_server(Path::new("sh"));
        postgres
            .args(["-c", RUN, "sh"])
            .arg(programs.join("postgres"))
            .args(["-D", "data"])
            .current_dir(&folder);
        let (address, certificate) = ("listen_addresses=127.0.0.1", "ssl_cert_file=../server.pem");
        let port_option = format!("port={port}");
        let options = [
            address,
            &port_option,
            "ssl=on",
            certificate,
            "ssl_key_file=../server.key",
            "fsync=off",
        ];
        postgres.args(
            options
                .into_iter()
                .chain(["unix_socket_directories="])
                .flat_map(|option| ["-c", option]),
        );
        let log = fs::File::create(folder.join("log"))?;
        postgres
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log);
        let server = Self {
            child: postgres.spawn().context("postgres")?,
            folder,
            port,
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&self) -> Result<()> {
        let start = Instant::now();
        while !tools::succeeds(command("psql").args([&self.url("postgres"), "--command=SELECT 1"]))
        {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            ensure!(
                start.elapsed() < START_TIMEOUT,
                "postgres does not start:\n{}",
                log()
            );
            sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Runs SQL as the owner.
    fn run_sql(&self, output: &Output, database: &str, sql: &str) -> Result<()> {
        let mut psql = command("psql");
        psql.arg(self.url(database)).args([
            "--quiet",
            "--no-psqlrc",
            "--set=ON_ERROR_STOP=1",
            "--file=-",
        ]);
        let script = self.folder.join("script.sql");
        fs::write(&script, sql)?;
        output.run(psql.stdin(fs::File::open(script)?))
    }

    fn url(&self, database: &str) -> String {
        format!(
            "postgresql://owner:{OWNER_PASSWORD}@127.0.0.1:{}/{database}",
            self.port
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The standard input is closed first, which stops the server. This fails only if the server has already ended.
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A command of the server. It does not run as root.
fn as_server(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return command(program);
    }
    let mut setpriv = command("setpriv");
    setpriv
        .args([
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            "--",
        ])
        .arg(program);
    setpriv
}
