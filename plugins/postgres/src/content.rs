//! The contents of resources: schemas, pages of rows, a row, and saved queries.

use larder_provider::{Completion, Content, Error, Request, Result};

use crate::Postgres;
use crate::database::Snapshot;
use crate::failure::Failure;
use crate::schema::{self, Selection, Table};
use crate::settings::SavedQuery;
use provider_table::{Format, address::is_suggested};

/// Rows of a table in one response, unless a request contains another number.
const DEFAULT_ROWS: usize = 100;
/// Keys that are suggested at most.
const MAX_KEYS: usize = 100;

impl Postgres {
    pub(crate) fn content(&self, snapshot: &mut Snapshot, request: &Request) -> Result<Content> {
        let template = request.template().unwrap_or_default();
        let table = |snapshot: &mut Snapshot| {
            self.find(snapshot, &request.var("schema")?, &request.var("table")?)
        };
        if template == self.addresses.schemas_template()
            || template == self.addresses.any_schema_template()
        {
            return self.schema(snapshot, &request.var("schema")?);
        }
        if template == self.addresses.rows_template()
            || template == self.addresses.any_row_template()
        {
            let table = table(snapshot)?;
            return row(snapshot, &table, &request.var("key")?);
        }
        if template == self.addresses.tables_template()
            || template == self.addresses.any_table_template()
        {
            let table = table(snapshot)?;
            return self.page(snapshot, &table, request);
        }
        for (name, saved) in &self.settings.queries {
            let is_template =
                template == self.addresses.query_template(name, &saved.statement.names);
            if is_template || request.uri == self.addresses.query(name) {
                return self.saved(snapshot, saved, request);
            }
        }
        Err(Error::NotFound)
    }

    fn schema(&self, snapshot: &mut Snapshot, name: &str) -> Result<Content> {
        let sql = schema::sql(
            snapshot,
            Selection {
                schema: Some(name),
                ..self.selection()
            },
        )?;
        match sql.is_empty() {
            true => Err(Error::NotFound),
            false => Ok(Content::text(sql).mime("application/sql")),
        }
    }

    /// The rows of a table, from an offset.
    fn page(&self, snapshot: &mut Snapshot, table: &Table, request: &Request) -> Result<Content> {
        let format = Format::parse(request.vars("format").next())?;
        let limit = number(request, "limit")?
            .unwrap_or(DEFAULT_ROWS)
            .clamp(1, self.settings.max_rows);
        let offset = number(request, "offset")?.unwrap_or_default();
        let (name, order, most) = (table.quoted(), table.order(), limit + 1);
        let sql = format!("SELECT * FROM {name} {order} LIMIT {most} OFFSET {offset}");
        let rows = snapshot.query(&sql, &[], limit)?;
        let name = if format == Format::Csv { "csv" } else { "json" };
        let next = || {
            let table = (table.schema.as_str(), table.name.as_str());
            self.addresses.rows(table, name, limit, offset + limit)
        };
        let next = rows.has_more.then(next);
        rows.content(format, next.map(|next| ("dev.larder.postgres/next", next)))
    }

    fn saved(
        &self,
        snapshot: &mut Snapshot,
        saved: &SavedQuery,
        request: &Request,
    ) -> Result<Content> {
        let format = Format::parse(request.vars("format").next())?;
        let values: Vec<_> = saved
            .statement
            .names
            .iter()
            .map(|name| request.vars(name).next())
            .collect();
        let rows = snapshot.query(&saved.statement.sql, &values, self.settings.max_rows)?;
        if rows.has_more {
            let why = "the query has more rows than the limit of";
            return Err(Error::Invalid(format!(
                "{why} {} (setting `max_rows`)",
                self.settings.max_rows
            )));
        }
        rows.content(format, None)
    }
}

/// A row by its key. The database converts the text of a URI to the type of the key.
fn row(snapshot: &mut Snapshot, table: &Table, key: &str) -> Result<Content> {
    let column = table
        .key()
        .ok_or_else(|| Error::invalid("the rows have no key of one column"))?;
    let sql = format!("SELECT * FROM {} WHERE {column} = $1", table.quoted());
    let found = match snapshot.query(&sql, &[Some(key)], 1) {
        Err(Failure::Refused(refusal)) if refusal.is_about_value() => return Err(Error::NotFound),
        found => found?,
    };
    let row = found.objects().into_iter().next().ok_or(Error::NotFound)?;
    Ok(Content::text(format!("{row:#}")).mime("application/json"))
}

/// The first keys of a table that begin with a text.
pub(crate) fn keys(
    snapshot: &mut Snapshot,
    table: &Table,
    prefix: &str,
    is_in_path: bool,
) -> Result<Completion> {
    let Some(column) = table.key() else {
        return Ok(Completion::default());
    };
    let name = table.quoted();
    let sql = format!(
        "SELECT {column}::text FROM {name} WHERE starts_with({column}::text, $1) ORDER BY {column} LIMIT {}",
        MAX_KEYS + 1
    );
    let found = snapshot.query(&sql, &[Some(prefix)], MAX_KEYS)?;
    let values = found
        .texts(0)
        .filter(|key| is_suggested(key, is_in_path))
        .map(str::to_owned);
    let completion = Completion::matching(values.collect::<Vec<_>>(), prefix);
    Ok(Completion {
        total: completion.total.filter(|_| !found.has_more),
        more: found.has_more,
        ..completion
    })
}

fn number(request: &Request, name: &str) -> Result<Option<usize>> {
    let value = request.vars(name).next().filter(|value| !value.is_empty());
    // PostgreSQL counts rows with signed numbers of 64 bits.
    let parsed = value.map(|value| {
        value
            .parse()
            .map(|number: u32| usize::try_from(number).unwrap_or_default())
    });
    parsed
        .transpose()
        .map_err(|_| Error::Invalid(format!("`{name}` is not a number")))
}
