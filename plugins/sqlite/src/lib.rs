//! Provides the tables, views and saved queries of an SQLite database, which is only read.

mod address;
mod database;
mod rows;
mod schema;
mod search;
mod settings;
mod tool;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use larder_provider::{
    Completion, CompletionRequest, Content, Declaration, Description, Details, Entry, EntryPage,
    Error, Freshness, Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template,
    TemplatePage, Tools, paginate, warn,
};
use rusqlite::ToSql;

use address::Addresses;
use database::Database;
use provider_table::{Format, Rows, address::is_suggested};
use rows::query;
use schema::{Table, quoted};
use settings::{SavedQuery, Settings};

/// Rows of a table in one response, unless a request contains another number.
const DEFAULT_ROWS: usize = 100;
/// Keys that are suggested at most.
const MAX_KEYS: usize = 100;

struct Sqlite {
    settings: Settings,
    path: PathBuf,
    addresses: Addresses,
}

larder_provider::export!(Sqlite: completions, versions, search, settings, tools);

impl Provider for Sqlite {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        let folders = provider_support::disk::granted();
        let (folder, _) = folders
            .first()
            .ok_or("no folder is granted: see `dirs` of this provider")?;
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
        let tables = schema::all(&database.connection)?;
        self.report(&database, &tables)?;
        let mut entries = self.entries(&database, &tables)?;
        entries.push(self.page_entry());
        entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        Ok(paginate(entries, query).freshness(Freshness::everyone(self.settings.ttl)))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let database = Database::open(&self.path)?;
        let mut templates = vec![
            Template::new(self.addresses.tables_template(), "rows of a table or view").description(
                "`format` is json or csv; `limit`, and `offset` or `after`, select the rows",
            ),
            Template::new(self.addresses.rows_template(), "a row, by its key")
                .mime("application/json"),
            Template::new(
                self.addresses.any_table_template(),
                "rows of a table with any name",
            )
            .description("for a name that cannot be in a path, such as one with a slash"),
            Template::new(self.addresses.any_row_template(), "a row with any key")
                .description("for a name or key that cannot be in a path, such as one with a slash")
                .mime("application/json"),
        ];
        for (name, saved) in &self.settings.queries {
            let Ok(parameters) = parameters(&database, saved)? else {
                continue;
            };
            let mut template =
                Template::new(self.addresses.query_template(name, &parameters), name);
            (template.title, template.description) =
                (saved.title.clone(), saved.description.clone());
            templates.push(template);
        }
        Ok(templates.into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        if request.uri == self.addresses.page() {
            request.unless_known(tool::PAGE_VERSION)?;
            return Ok(Self::page());
        }
        let database = Database::open(&self.path)?;
        request.unless_known(&database.version)?;
        let content = database.consistent(|_| self.content(&database, request))?;
        let freshness = Freshness::everyone(self.settings.ttl);
        Ok(Reading::from(content)
            .version(&database.version)
            .freshness(freshness))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let database = Database::open(&self.path)?;
        let is_in_path = self.addresses.is_in_path(&request.uri_template);
        match (request.variable.as_str(), request.filled("table")) {
            ("format", _) => Ok(Completion::matching(Format::NAMES, &request.prefix)),
            ("table", _) => {
                let names = schema::usable(&database.connection)?
                    .into_iter()
                    .map(|table| table.name);
                let suggested = names.filter(|name| is_suggested(name, is_in_path));
                Ok(Completion::matching(suggested, &request.prefix))
            }
            ("key", Some(table)) => keys(
                &database,
                &schema::find(&database.connection, table)?,
                &request.prefix,
                is_in_path,
            ),
            _ => Ok(Completion::default()),
        }
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        // All resources of the database change together with the file.
        let version = database::version(&self.path)?;
        let page = self.addresses.page();
        let version_of = |uri: &String| {
            if *uri == page {
                tool::PAGE_VERSION.to_owned()
            } else {
                version.clone()
            }
        };
        Ok(uris.iter().map(|uri| Some(version_of(uri))).collect())
    }

    fn tools(&self) -> Result<Tools<Self>> {
        Ok(self.query_tools())
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        self.hits(&mut Database::open(&self.path)?, query)
    }
}

impl Sqlite {
    fn open(settings: Settings, folder: &Path) -> Result<Self> {
        let path = database::database_path(&settings, folder)?;
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("database");
        let addresses = Addresses::new(settings.name.as_deref().unwrap_or(stem));
        Ok(Self {
            settings,
            path,
            addresses,
        })
    }

    /// All entries. An entry that cannot be used is omitted, and does not affect the others.
    fn entries(&self, database: &Database, tables: &[Table]) -> Result<Vec<Entry>> {
        let mut entries = vec![self.schema_entry(database)];
        for table in tables.iter().filter(|table| table.problem.is_none()) {
            entries.push(self.table_entry(database, table));
        }
        for (name, saved) in &self.settings.queries {
            if parameters(database, saved)?.is_ok_and(|names| names.is_empty()) {
                entries.push(self.query_entry(database, name, saved));
            }
        }
        Ok(entries)
    }

    /// Writes the names of omitted entries to the log.
    fn report(&self, database: &Database, tables: &[Table]) -> Result<()> {
        for table in tables {
            if let Some(problem) = &table.problem {
                warn!(
                    "the {} `{}` is omitted: {problem}",
                    table.kind(),
                    table.name
                );
            }
        }
        for (name, saved) in &self.settings.queries {
            if let Err(problem) = parameters(database, saved)? {
                warn!("the saved query `{name}` is omitted: {problem}");
            }
        }
        Ok(())
    }

    fn schema_entry(&self, database: &Database) -> Entry {
        Entry::new(self.addresses.schema(), "schema")
            .title("Schema")
            .mime("application/sql")
            .version(&database.version)
            .details(Details::kind("schema").priority(0.9))
    }

    fn table_entry(&self, database: &Database, table: &Table) -> Entry {
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let kind = table.kind();
        Entry::new(self.addresses.table(&table.name), &table.name)
            .description(format!("{kind} with the columns {}", columns.join(", ")))
            .mime("application/json")
            .version(&database.version)
            .details(Details::kind(kind))
    }

    fn query_entry(&self, database: &Database, name: &str, saved: &SavedQuery) -> Entry {
        let mut entry = Entry::new(self.addresses.query(name), name);
        (entry.title, entry.description) = (saved.title.clone(), saved.description.clone());
        entry
            .mime("application/json")
            .version(&database.version)
            .details(Details::kind("query"))
    }

    fn content(&self, database: &Database, request: &Request) -> Result<Content> {
        if request.uri == self.addresses.schema() {
            let tables = schema::all(&database.connection)?;
            let sql: String = tables
                .iter()
                .map(|table| format!("{};\n\n", table.sql))
                .collect();
            return Ok(Content::text(sql).mime("application/sql"));
        }
        let template = request.template().unwrap_or_default();
        if template == self.addresses.rows_template()
            || template == self.addresses.any_row_template()
        {
            return row(
                database,
                &schema::find(&database.connection, &request.var("table")?)?,
                &request.var("key")?,
            );
        }
        if template == self.addresses.tables_template()
            || template == self.addresses.any_table_template()
        {
            return self.table(database, request);
        }
        self.query(database, request)
    }

    fn query(&self, database: &Database, request: &Request) -> Result<Content> {
        let template = request.template().unwrap_or_default();
        for (name, saved) in &self.settings.queries {
            let parameters = parameters(database, saved)?;
            let is_same = request.uri == self.addresses.query(name);
            match parameters {
                Ok(parameters)
                    if is_same || template == self.addresses.query_template(name, &parameters) =>
                {
                    return self.saved(database, saved, &parameters, request);
                }
                Err(why) if is_same => {
                    return Err(Error::Failed(format!(
                        "the saved query `{name}` cannot be used: {why}"
                    )));
                }
                _ => {}
            }
        }
        Err(Error::NotFound)
    }

    /// The rows of a table, after a row or from an offset.
    fn table(&self, database: &Database, request: &Request) -> Result<Content> {
        let table = schema::find(&database.connection, &request.var("table")?)?;
        let format = Format::parse(request.vars("format").next())?;
        let limit = number(request, "limit")?
            .unwrap_or(DEFAULT_ROWS)
            .clamp(1, self.settings.max_rows);
        let offset: usize = number(request, "offset")?.unwrap_or_default();
        let id = table.row_id().filter(|_| !table.is_virtual);
        let after = number::<i64>(request, "after")?.zip(id);
        let condition = after
            .map(|(after, id)| format!("WHERE {id} > {after} "))
            .unwrap_or_default();
        let rest = format!("{condition}{} LIMIT -1 OFFSET {offset}", table.order());
        let mut rows = rows::page(
            &database.connection,
            id.unwrap_or_default(),
            &table.name,
            &rest,
            &[],
            limit,
        )?;
        let last = id.and_then(|_| remove_first_column(&mut rows));
        let place = last.map_or_else(
            || format!("offset={}", offset + rows.rows.len()),
            |id| format!("after={id}"),
        );
        let name = if format == Format::Csv { "csv" } else { "json" };
        let next = rows
            .has_more
            .then(|| self.addresses.rows(&table.name, name, limit, &place));
        rows.content(format, next.map(|next| ("dev.larder.sqlite/next", next)))
    }

    fn saved(
        &self,
        database: &Database,
        saved: &SavedQuery,
        parameters: &[String],
        request: &Request,
    ) -> Result<Content> {
        let value = |name: &str| request.vars(name).next().map(str::to_owned);
        let rows = saved_rows(database, saved, parameters, value, self.settings.max_rows)?;
        if rows.has_more {
            let why = "the query has more rows than the limit of";
            return Err(Error::Invalid(format!(
                "{why} {} (setting `max_rows`)",
                self.settings.max_rows
            )));
        }
        rows.content(Format::parse(request.vars("format").next())?, None)
    }
}

/// Runs a saved query with the values of its parameters; a parameter without a value is NULL.
fn saved_rows(
    database: &Database,
    saved: &SavedQuery,
    parameters: &[String],
    value: impl Fn(&str) -> Option<String>,
    limit: usize,
) -> Result<Rows> {
    let values: Vec<(String, Option<String>)> = parameters
        .iter()
        .map(|name| (format!(":{name}"), value(name)))
        .collect();
    let bound: Vec<(&str, &dyn ToSql)> = values
        .iter()
        .map(|(name, value)| (name.as_str(), value as &dyn ToSql))
        .collect();
    query(&database.connection, &saved.sql, &bound, limit)
}

/// Removes the first column, the row id, and returns its last value.
fn remove_first_column(rows: &mut Rows) -> Option<i64> {
    rows.columns.remove(0);
    let ids: Vec<_> = rows.rows.iter_mut().map(|row| row.remove(0)).collect();
    ids.last()?.as_i64()
}

/// The names of the parameters of a saved query, which are written `:name`. If the query cannot be run, the reason.
fn parameters(database: &Database, saved: &SavedQuery) -> Result<Result<Vec<String>, String>> {
    let statement = match database.connection.prepare(&saved.sql) {
        Ok(statement) => statement,
        Err(error) => return database::problem(error).map(Err),
    };
    let names = (1..=statement.parameter_count()).map(|at| statement.parameter_name(at));
    let names = names.map(|name| Some(name?.strip_prefix(':')?.to_owned()));
    let names: Option<Vec<String>> = names.collect();
    Ok(names.ok_or_else(|| "a parameter is not written `:name`".to_owned()))
}

/// A row by its key. Keys are compared as texts, so that the key of a URI fits any type.
fn row(database: &Database, table: &Table, key: &str) -> Result<Content> {
    let column = table
        .key()
        .ok_or_else(|| Error::invalid("the rows have no key of one column"))?;
    // The first comparison uses the index: SQLite converts the text to the type of the column.
    let mut found = Rows::default();
    for condition in [
        format!("{column} = :key"),
        format!("CAST({column} AS TEXT) = :key"),
    ] {
        let rest = format!("WHERE {condition} LIMIT 2");
        found = rows::page(
            &database.connection,
            "",
            &table.name,
            &rest,
            &[(":key", &key)],
            2,
        )?;
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
    let Some(column) = table.key() else {
        return Ok(Completion::default());
    };
    let sql = format!(
        "SELECT CAST({column} AS TEXT) FROM {} WHERE substr(CAST({column} AS TEXT), 1, length(:prefix)) = :prefix \
         ORDER BY {column}",
        quoted(&table.name)
    );
    let found = query(
        &database.connection,
        &sql,
        &[(":prefix", &prefix)],
        MAX_KEYS,
    )?;
    let values = found
        .texts(0)
        .filter(|key| is_suggested(key, is_in_path))
        .map(str::to_owned);
    let values = values.collect::<Vec<_>>();
    let completion = Completion::matching(values, prefix);
    Ok(Completion {
        total: completion.total.filter(|_| !found.has_more),
        more: found.has_more,
        ..completion
    })
}

fn number<T: FromStr>(request: &Request, name: &str) -> Result<Option<T>> {
    let value = request.vars(name).next().filter(|value| !value.is_empty());
    let parsed = value.map(str::parse).transpose();
    parsed.map_err(|_| Error::Invalid(format!("`{name}` is not a number")))
}
