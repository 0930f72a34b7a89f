//! The settings of this provider, and their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_provider::{Declaration, Error, Result, Setting};
use serde::Deserialize;

use crate::statement::Statement;

const HOST: Setting<String> = Setting::text(
    "host",
    "The name or the address of the server. It needs a grant in `tcp`.",
)
.required();
const PORT: Setting<u16> = Setting::number("port", "The port of the server.").default("5432");
const DATABASE: Setting<String> =
    Setting::text("database", "The database on the server.").required();
const USER: Setting<String> = Setting::text(
    "user",
    "The user. It should be a role that can only read what is offered.",
)
.required();
const PASSWORD: Setting<String> = Setting::text(
    "password",
    "The password of the user. Without one, the server must not ask for it.",
)
.secret();
const TLS: Setting<bool> = Setting::boolean(
    "tls",
    "Whether the connection is encrypted and the server's certificate is checked. `false` sends data in clear text.",
)
.default("true");
const CERTIFICATES: Setting<String> = Setting::text(
    "ca_certificate",
    "The certificates that sign the server's certificate, as PEM. Without them, public ones are used.",
);
const NAME: Setting<String> = Setting::text(
    "name",
    "The name of the database in URIs. Without one, it is its name on the server.",
);
const TITLE: Setting<String> =
    Setting::text("title", "The title of this provider.").default("PostgreSQL");
const SCHEMAS: Setting<String> = Setting::text(
    "schemas",
    "The schemas that are offered, as a list. Without it, all that the user can read.",
);
const QUERIES: Setting<String> = Setting::text(
    "queries",
    "Saved queries: a table with a table for each of them.",
)
.default("{}");
const MAX_ROWS: Setting<u32> =
    Setting::number("max_rows", "The maximum number of rows in one response.").default("1000");
const STATEMENT_TIMEOUT: Setting<Duration> = Setting::duration(
    "statement_timeout",
    "The time limit of one statement in the database.",
)
.default("5s");
const TTL: Setting<Duration> =
    Setting::duration("ttl", "How long a response may be cached.").default("1s");

/// Settings of the operator.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) server: Server,
    pub(crate) name: String,
    pub(crate) title: String,
    /// None for all schemas that the user can read.
    pub(crate) schemas: Option<Vec<String>>,
    pub(crate) queries: BTreeMap<String, SavedQuery>,
    pub(crate) max_rows: usize,
    pub(crate) ttl: Duration,
}

/// How to connect to a database.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) tls: bool,
    /// PEM; None for public authorities.
    pub(crate) certificates: Option<String>,
    pub(crate) statement_timeout: Duration,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The password is not shown.
        f.debug_struct("Server")
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// A query that the operator wrote. Each of its parameters becomes a variable of a template.
#[derive(Debug)]
pub(crate) struct SavedQuery {
    pub(crate) statement: Statement,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
}

/// A saved query in the form in which it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenQuery {
    sql: String,
    title: Option<String>,
    description: Option<String>,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        let texts = [
            HOST,
            DATABASE,
            USER,
            PASSWORD,
            CERTIFICATES,
            NAME,
            TITLE,
            SCHEMAS,
            QUERIES,
        ];
        let mut all: Vec<_> = texts.iter().map(Setting::declaration).collect();
        all.extend([
            PORT.declaration(),
            TLS.declaration(),
            MAX_ROWS.declaration(),
        ]);
        all.extend([STATEMENT_TIMEOUT.declaration(), TTL.declaration()]);
        all
    }

    pub(crate) fn read() -> Result<Self> {
        let (server, name) = (Server::read()?, NAME.find()?);
        if let Some(wrong) = name.iter().find(|name| !is_name(name)) {
            return Err(not_a_name(wrong));
        }
        let list = SCHEMAS
            .find()?
            .map(|text| serde_json::from_str(&text))
            .transpose();
        let schemas =
            list.map_err(|error| format!("the setting `schemas` is not a list of names: {error}"))?;
        Ok(Self {
            name: name.unwrap_or_else(|| server.database.clone()),
            server,
            title: TITLE.get()?,
            schemas,
            queries: queries()?,
            // The protocol has a signed number of 32 bits.
            max_rows: usize::try_from(MAX_ROWS.get()?.clamp(1, 1_000_000)).unwrap_or(1),
            ttl: TTL.get()?,
        })
    }
}

impl Server {
    fn read() -> Result<Self> {
        let texts = (HOST.get()?, DATABASE.get()?, USER.get()?);
        let (host, database, user) = texts;
        let server = Self {
            host: host.trim().to_owned(),
            port: PORT.get()?,
            database,
            user,
            password: PASSWORD.find()?.filter(|password| !password.is_empty()),
            tls: TLS.get()?,
            certificates: CERTIFICATES.find()?.filter(|pem| !pem.trim().is_empty()),
            statement_timeout: STATEMENT_TIMEOUT.get()?,
        };
        if [&server.host, &server.database, &server.user]
            .iter()
            .any(|text| text.is_empty() || text.contains('\0'))
        {
            return Err("the settings `host`, `database` and `user` must not be empty".into());
        }
        Ok(server)
    }
}

fn queries() -> Result<BTreeMap<String, SavedQuery>> {
    let written: BTreeMap<String, WrittenQuery> =
        serde_json::from_str(&QUERIES.get()?).map_err(|error| {
            Error::Failed(format!(
                "the setting `queries` is not a table of queries: {error}"
            ))
        })?;
    let saved = |(name, query): (String, WrittenQuery)| {
        if !is_name(&name) {
            return Err(not_a_name(&name));
        }
        let statement = Statement::parse(&query.sql)
            .map_err(|why| Error::Failed(format!("the saved query `{name}`: {why}")))?;
        Ok((
            name,
            SavedQuery {
                statement,
                title: query.title,
                description: query.description,
            },
        ))
    };
    written.into_iter().map(saved).collect()
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn not_a_name(wrong: &str) -> Error {
    Error::Failed(format!(
        "`{}` is not a name: use letters, digits, - and _",
        wrong.escape_debug()
    ))
}
