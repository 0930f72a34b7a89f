//! Provides the tables, views and saved queries of an SQLite database, which is only read.

mod address;
mod database;
mod rows;
mod schema;
mod search;
mod settings;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, Details, Entry, EntryPage, Error,
    Freshness, Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template, TemplatePage,
    paginate,
};
use rusqlite::ToSql;

use address::Addresses;
use database::{Database, failed};
use provider_table::{Format, Rows, address::is_suggested};
use rows::query;
use schema::{Table, quoted};
use settings::{SavedQuery, Settings};

/// Rows of a table in one response, unless a request asks for another number.
const DEFAULT_ROWS: usize = 100;
/// Keys that are suggested at most.
const MAX_KEYS: usize = 100;

struct Sqlite {
    settings: Settings,
    path: PathBuf,
    addresses: Addresses,
}

larder_provider::export!(Sqlite: completions, versions, search, settings);

impl Provider for Sqlite {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        let folders = provider_support::disk::granted();
        let (folder, _) = folders.first().ok_or("no folder is granted: see `dirs` of this provider")?;
        Self::open(Settings::read()?, Path::new(folder))
    }

    fn describe(&self) -> Description {
        Description::new(&self.settings.title)
            .version(env!("CARGO_PKG_VERSION"))
            .summary("the tables, views and saved queries of a database")
            .instructions(
                "Read the schema first. A table is returned in pages; saved queries answer common questions.",
            )
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let database = Database::open(&self.path)?;
        let mut entries = vec![self.schema_entry(&database)];
        for table in schema::tables(&database.connection)? {
            entries.push(self.table_entry(&database, &table));
        }
        for (name, saved) in &self.settings.queries {
            if parameters(&database, saved)?.is_empty() {
                entries.push(self.query_entry(&database, name, saved));
            }
        }
        entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        Ok(paginate(entries, query).freshness(Freshness::everyone(self.settings.ttl)))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let database = Database::open(&self.path)?;
        let mut templates = vec![
            Template::new(self.addresses.tables_template(), "rows of a table or view")
                .description("`format` is json or csv; `limit` and `offset` select the rows"),
            Template::new(self.addresses.rows_template(), "a row, by its key").mime("application/json"),
            Template::new(self.addresses.any_table_template(), "rows of a table with any name")
                .description("for a name that cannot be in a path, such as one with a slash"),
            Template::new(self.addresses.any_row_template(), "a row with any key")
                .description("for a name or key that cannot be in a path, such as one with a slash")
                .mime("application/json"),
        ];
        for (name, saved) in &self.settings.queries {
            let parameters = parameters(&database, saved)?;
            let mut template = Template::new(self.addresses.query_template(name, &parameters), name);
            (template.title, template.description) = (saved.title.clone(), saved.description.clone());
            templates.push(template);
        }
        Ok(templates.into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let database = Database::open(&self.path)?;
        request.unless_known(&database.version)?;
        let content = database.consistent(|_| self.content(&database, request))?;
        let freshness = Freshness::everyone(self.settings.ttl);
        Ok(Reading::from(content).version(&database.version).freshness(freshness))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let database = Database::open(&self.path)?;
        let is_in_path = self.addresses.is_in_path(&request.uri_template);
        match (request.variable.as_str(), request.filled("table")) {
            ("format", _) => Ok(Completion::matching(Format::NAMES, &request.prefix)),
            ("table", _) => {
                let names = schema::tables(&database.connection)?.into_iter().map(|table| table.name);
                let suggested = names.filter(|name| is_suggested(name, is_in_path));
                Ok(Completion::matching(suggested, &request.prefix))
            }
            ("key", Some(table)) => keys(&database, &find(&database, table)?, &request.prefix, is_in_path),
            _ => Ok(Completion::default()),
        }
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        // All resources change with the file.
        let version = database::version(&self.path)?;
        Ok(vec![Some(version); uris.len()])
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        let database = Database::open(&self.path)?;
        let hits = database.consistent(|connection| search::hits(connection, &self.addresses, query))?;
        Ok(query.take(hits))
    }
}

impl Sqlite {
    fn open(settings: Settings, folder: &Path) -> Result<Self> {
        let path = database::path(&settings, folder)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("database");
        let addresses = Addresses::new(settings.name.as_deref().unwrap_or(stem));
        Ok(Self { settings, path, addresses })
    }

    fn schema_entry(&self, database: &Database) -> Entry {
        Entry::new(self.addresses.schema(), "schema")
            .title("Schema")
            .mime("application/sql")
            .version(&database.version)
            .details(Details::kind("schema").priority(0.9))
    }

    fn table_entry(&self, database: &Database, table: &Table) -> Entry {
        let columns: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let kind = if table.is_view { "view" } else { "table" };
        Entry::new(self.addresses.table(&table.name), &table.name)
            .description(format!("{kind} with the columns {}", columns.join(", ")))
            .mime("application/json")
            .version(&database.version)
            .details(Details::kind(kind))
    }

    fn query_entry(&self, database: &Database, name: &str, saved: &SavedQuery) -> Entry {
        let mut entry = Entry::new(self.addresses.query(name), name);
        (entry.title, entry.description) = (saved.title.clone(), saved.description.clone());
        entry.mime("application/json").version(&database.version).details(Details::kind("query"))
    }

    fn content(&self, database: &Database, request: &Request) -> Result<Content> {
        if request.uri == self.addresses.schema() {
            let tables = schema::tables(&database.connection)?;
            let sql: String = tables.iter().map(|table| format!("{};\n\n", table.sql)).collect();
            return Ok(Content::text(sql).mime("application/sql"));
        }
        let template = request.template().unwrap_or_default();
        if template == self.addresses.rows_template() || template == self.addresses.any_row_template() {
            return row(database, &find(database, &request.var("table")?)?, &request.var("key")?);
        }
        if template == self.addresses.tables_template() || template == self.addresses.any_table_template() {
            return self.table(database, request);
        }
        for (name, saved) in &self.settings.queries {
            let parameters = parameters(database, saved)?;
            if template == self.addresses.query_template(name, &parameters)
                || request.uri == self.addresses.query(name)
            {
                return self.saved(database, saved, &parameters, request);
            }
        }
        Err(Error::NotFound)
    }

    /// The rows of a table, from an offset.
    fn table(&self, database: &Database, request: &Request) -> Result<Content> {
        let table = find(database, &request.var("table")?)?;
        let format = Format::parse(request.vars("format").next())?;
        let limit = number(request, "limit")?.unwrap_or(DEFAULT_ROWS).clamp(1, self.settings.max_rows);
        let offset = number(request, "offset")?.unwrap_or_default();
        let sql = format!("SELECT * FROM {} {} LIMIT -1 OFFSET {offset}", quoted(&table.name), table.order());
        let rows = query(&database.connection, &sql, &[], limit)?;
        let name = if format == Format::Csv { "csv" } else { "json" };
        let next = rows.has_more.then(|| self.addresses.rows(&table.name, name, limit, offset + limit));
        rows.content(format, next.map(|next| ("dev.larder.sqlite/next", next)))
    }

    fn saved(
        &self,
        database: &Database,
        saved: &SavedQuery,
        parameters: &[String],
        request: &Request,
    ) -> Result<Content> {
        let values: Vec<(String, Option<String>)> = parameters
            .iter()
            .map(|name| (format!(":{name}"), request.vars(name).next().map(str::to_owned)))
            .collect();
        let bound: Vec<(&str, &dyn ToSql)> =
            values.iter().map(|(name, value)| (name.as_str(), value as &dyn ToSql)).collect();
        let rows = query(&database.connection, &saved.sql, &bound, self.settings.max_rows)?;
        if rows.has_more {
            let why = "the query has more rows than the limit of";
            return Err(Error::Invalid(format!("{why} {} (setting `max_rows`)", self.settings.max_rows)));
        }
        rows.content(Format::parse(request.vars("format").next())?, None)
    }
}

/// The names of the parameters of a saved query, which are written `:name`.
fn parameters(database: &Database, saved: &SavedQuery) -> Result<Vec<String>> {
    let statement = database.connection.prepare(&saved.sql).map_err(failed)?;
    let names = (1..=statement.parameter_count()).map(|at| statement.parameter_name(at));
    let names = names.map(|name| Some(name?.strip_prefix(':')?.to_owned()));
    names
        .collect::<Option<_>>()
        .ok_or_else(|| Error::failed("a parameter of a saved query is not written `:name`"))
}

fn find(database: &Database, name: &str) -> Result<Table> {
    let tables = schema::tables(&database.connection)?;
    tables.into_iter().find(|table| table.name == name).ok_or(Error::NotFound)
}

/// A row by its key. Keys are compared as texts, so that the key of a URI fits any type.
fn row(database: &Database, table: &Table, key: &str) -> Result<Content> {
    let column = table.key().ok_or_else(|| Error::invalid("the rows have no key of one column"))?;
    let sql = |condition: &str| format!("SELECT * FROM {} WHERE {condition} LIMIT 2", quoted(&table.name));
    // The first comparison uses the index: SQLite converts the text to the type of the column.
    let mut found = Rows::default();
    for condition in [format!("{column} = :key"), format!("CAST({column} AS TEXT) = :key")] {
        found = query(&database.connection, &sql(&condition), &[(":key", &key)], 2)?;
        if !found.rows.is_empty() {
            break;
        }
    }
    match found.objects().as_slice() {
        [] => Err(Error::NotFound),
        [row, ..] => Ok(Content::text(format!("{row:#}")).mime("application/json")),
    }
}

/// The first keys of a table that begin with a text.
fn keys(database: &Database, table: &Table, prefix: &str, is_in_path: bool) -> Result<Completion> {
    let Some(column) = table.key() else { return Ok(Completion::default()) };
    let sql = format!(
        "SELECT CAST({column} AS TEXT) FROM {} WHERE substr(CAST({column} AS TEXT), 1, length(:prefix)) = :prefix \
         ORDER BY {column}",
        quoted(&table.name)
    );
    let found = query(&database.connection, &sql, &[(":prefix", &prefix)], MAX_KEYS)?;
    let values = found.texts(0).filter(|key| is_suggested(key, is_in_path)).map(str::to_owned);
    let values = values.collect::<Vec<_>>();
    let completion = Completion::matching(values, prefix);
    Ok(Completion { total: completion.total.filter(|_| !found.has_more), more: found.has_more, ..completion })
}

fn number(request: &Request, name: &str) -> Result<Option<usize>> {
    let value = request.vars(name).next().filter(|value| !value.is_empty());
    let parsed = value.map(str::parse).transpose();
    parsed.map_err(|_| Error::Invalid(format!("`{name}` is not a number")))
}
