//! The database, which is only read: each request is one read-only transaction, on a connection that is kept.

use std::cell::RefCell;
use std::time::Duration;

use larder_provider::Result;
use serde_json::Value;

use crate::connection::Connection;
use crate::failure::{Failure, Refusal};
use crate::login;
use crate::settings::Server;
use provider_table::Rows;

/// The version: the snapshot of a new transaction, see `pg_current_snapshot`. The version changes when any transaction
/// that wrote data ends, also in another database of the server.
const VERSION: &str = "SELECT pg_catalog.pg_current_snapshot()::text";

/// Ends the part that began with a savepoint. The time limit of this part ends as well.
const END_ATTEMPT: &str = "ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt";

/// A database on a server.
pub(crate) struct Database {
    server: Server,
    /// The connection of the previous request, if the guest is reused.
    kept: RefCell<Option<Connection>>,
}

/// The state of the database at one time.
pub(crate) struct Snapshot {
    connection: Connection,
    pub(crate) version: String,
}

impl Database {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            kept: RefCell::default(),
        }
    }

    /// A database with an open connection, for tests.
    #[cfg(test)]
    pub(crate) fn with_connection(server: Server, connection: Connection) -> Self {
        Self {
            server,
            kept: RefCell::new(Some(connection)),
        }
    }

    /// The longest time of a statement.
    pub(crate) fn statement_timeout(&self) -> Duration {
        self.server.statement_timeout
    }

    /// Reads in a transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut Snapshot) -> Result<T>) -> Result<T> {
        let mut snapshot = self.start(&self.transaction())?;
        let result = work(&mut snapshot);
        // Without a ROLLBACK, the connection is not kept, and its transaction ends with the connection.
        if snapshot.connection.is_usable && snapshot.connection.run("ROLLBACK").is_ok() {
            self.kept.replace(Some(snapshot.connection));
        }
        result
    }

    /// The current version.
    pub(crate) fn version(&self) -> Result<String> {
        let snapshot = self.start(VERSION)?;
        self.kept.replace(Some(snapshot.connection));
        Ok(snapshot.version)
    }

    /// Runs statements that return the version, on the kept connection, or on a new one if the server has closed that.
    fn start(&self, sql: &str) -> Result<Snapshot> {
        if let Some(connection) = self.kept.take() {
            match Snapshot::new(connection, sql) {
                Err(Failure::Broken(_)) => {}
                Err(Failure::Refused(refusal)) if refusal.is_fatal => {}
                result => return Ok(result?),
            }
        }
        Ok(Snapshot::new(login::connect(&self.server)?, sql)?)
    }

    fn transaction(&self) -> String {
        let milliseconds = self
            .server
            .statement_timeout
            .as_millis()
            .clamp(1, i32::MAX as u128);
        format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL bytea_output = hex; SET LOCAL DateStyle = ISO; {VERSION}"
        )
    }
}

impl Snapshot {
    fn new(mut connection: Connection, sql: &str) -> Result<Self, Failure> {
        let rows = connection.run(sql)?;
        let version = rows
            .rows
            .first()
            .and_then(|row| row.first())
            .and_then(Value::as_str);
        let version = version
            .ok_or_else(|| Failure::Broken("the server has no `pg_current_snapshot`".into()))?;
        Ok(Self {
            version: short(version),
            connection,
        })
    }

    /// Runs one statement with these parameters, up to a number of rows.
    pub(crate) fn query(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
        limit: usize,
    ) -> Result<Rows, Failure> {
        self.connection.query(sql, parameters, limit)
    }

    /// Runs one statement for at most this time. If the server refuses it, the transaction continues, and the rows that
    /// were sent before are returned with the reason.
    pub(crate) fn attempt(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
        limit: usize,
        time: Duration,
    ) -> Result<(Rows, Option<Refusal>), Failure> {
        let milliseconds = time.as_millis().clamp(1, i32::MAX as u128);
        self.connection.run(&format!(
            "SAVEPOINT attempt; SET LOCAL statement_timeout = {milliseconds}"
        ))?;
        let found = self.connection.query_partially(sql, parameters, limit)?;
        self.connection.run(END_ATTEMPT)?;
        Ok(found)
    }

    /// The names of the types of a statement's parameters, or why the server refuses it. The transaction continues.
    pub(crate) fn checked_parameter_types(
        &mut self,
        sql: &str,
    ) -> Result<Result<Vec<String>, Refusal>, Failure> {
        self.connection.run("SAVEPOINT attempt")?;
        let types = match self.parameter_types(sql) {
            Err(Failure::Refused(refusal)) if !refusal.is_fatal => Err(refusal),
            types => Ok(types?),
        };
        self.connection.run(END_ATTEMPT)?;
        Ok(types)
    }

    /// The names of the types of a statement's parameters.
    fn parameter_types(&mut self, sql: &str) -> Result<Vec<String>, Failure> {
        let ids: Vec<_> = self
            .connection
            .parameters(sql)?
            .iter()
            .map(u32::to_string)
            .collect();
        let sql = "SELECT pg_catalog.format_type(id::oid, NULL) FROM unnest(string_to_array($1, ',')) \
                   WITH ORDINALITY AS types(id, number) ORDER BY number";
        let found = self.query(sql, &[Some(&ids.join(","))], ids.len())?;
        Ok(found.texts(0).map(str::to_owned).collect())
    }
}

/// A snapshot lists the transactions that are running. A long list is replaced by its digest.
fn short(version: &str) -> String {
    const MAX_LENGTH: usize = 100;
    if version.len() <= MAX_LENGTH {
        version.to_owned()
    } else {
        provider_support::digest(&version)
    }
}
