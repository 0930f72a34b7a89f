//! Provides the schemas, tables, views and saved queries of a PostgreSQL database, which is only read.

mod address;
mod connection;
mod content;
mod database;
mod failure;
mod login;
mod rows;
mod schema;
mod search;
mod settings;
mod statement;
mod stream;

#[cfg(test)]
mod tests;

use larder_provider::{
    Completion, CompletionRequest, Declaration, Description, Details, Entry, EntryPage, Error,
    Freshness, Hits, Provider, Query, Reading, Request, Result, SearchQuery, Template,
    TemplatePage, paginate, warn,
};

use address::Addresses;
use database::{Database, Snapshot};
use provider_table::{Format, address::is_suggested};
use schema::{Selection, Table};
use settings::{SavedQuery, Settings};

/// The description of templates with their variables in the query.
const ANY_NAME: &str = "for a name or key that cannot be in a path, such as one with a slash";

struct Postgres {
    settings: Settings,
    database: Database,
    addresses: Addresses,
}

larder_provider::export!(Postgres: completions, versions, search, settings);

impl Provider for Postgres {
    fn settings() -> Vec<Declaration> {
        Settings::declarations()
    }

    fn new() -> Result<Self> {
        let settings = Settings::read()?;
        let (database, addresses) = (
            Database::new(settings.server.clone()),
            Addresses::new(&settings.name),
        );
        Ok(Self {
            settings,
            database,
            addresses,
        })
    }

    fn describe(&self) -> Description {
        Description::new(&self.settings.title)
            .version(env!("CARGO_PKG_VERSION"))
            .summary("the schemas, tables, views and saved queries of a database")
            .instructions(
                "Read the schema first. A table is returned in pages; saved queries answer common questions.",
            )
    }

    fn list(&self, query: &Query) -> Result<EntryPage> {
        let mut entries = self.database.read(|snapshot| {
            let tables = self.tables(snapshot, None)?;
            Ok(self.entries(snapshot, &tables))
        })?;
        entries.sort_by(|a, b| a.uri.cmp(&b.uri));
        Ok(paginate(entries, query).freshness(Freshness::everyone(self.settings.ttl)))
    }

    fn templates(&self, _cursor: Option<&str>) -> Result<TemplatePage> {
        let mut templates = vec![
            Template::new(
                self.addresses.schemas_template(),
                "the tables of a schema, as SQL",
            )
            .mime("application/sql"),
            Template::new(self.addresses.tables_template(), "rows of a table or view")
                .description("`format` is json or csv; `limit` and `offset` select the rows"),
            Template::new(self.addresses.rows_template(), "a row, by its key")
                .mime("application/json"),
            Template::new(
                self.addresses.any_schema_template(),
                "the tables of a schema with any name",
            )
            .description(ANY_NAME)
            .mime("application/sql"),
            Template::new(
                self.addresses.any_table_template(),
                "rows of a table with any name",
            )
            .description(ANY_NAME),
            Template::new(self.addresses.any_row_template(), "a row with any key")
                .description(ANY_NAME)
                .mime("application/json"),
        ];
        if !self.settings.queries.is_empty() {
            self.database.read(|snapshot| {
                for (name, saved) in &self.settings.queries {
                    // One that the database refuses takes away only itself.
                    match snapshot.checked_parameter_types(&saved.statement.sql)? {
                        Ok(types) => templates.push(self.query_template(name, saved, types)),
                        Err(refusal) => {
                            warn!(
                                "the saved query `{name}` is omitted: {}",
                                Error::from(refusal)
                            )
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(templates.into())
    }

    fn read(&self, request: &Request) -> Result<Reading> {
        let (content, version) = self.database.read(|snapshot| {
            request.unless_known(&snapshot.version)?;
            Ok((self.content(snapshot, request)?, snapshot.version.clone()))
        })?;
        Ok(Reading::from(content)
            .version(version)
            .freshness(Freshness::everyone(self.settings.ttl)))
    }

    fn complete(&self, request: &CompletionRequest) -> Result<Completion> {
        let (schema, table) = (request.filled("schema"), request.filled("table"));
        let is_in_path = self.addresses.is_in_path(&request.uri_template);
        let is_suggested = |name: &String| is_suggested(name, is_in_path);
        match (request.variable.as_str(), schema, table) {
            ("format", ..) => Ok(Completion::matching(Format::NAMES, &request.prefix)),
            ("schema", ..) => self.database.read(|snapshot| {
                let tables = self.tables(snapshot, None)?;
                Ok(Completion::matching(
                    schemas(&tables)
                        .map(str::to_owned)
                        .filter(is_suggested)
                        .collect::<Vec<_>>(),
                    &request.prefix,
                ))
            }),
            ("table", Some(schema), _) => self.database.read(|snapshot| {
                let tables = self.tables(snapshot, Some(schema))?;
                let names = tables.into_iter().map(|table| table.name);
                Ok(Completion::matching(
                    names.filter(is_suggested),
                    &request.prefix,
                ))
            }),
            ("key", Some(schema), Some(table)) => self.database.read(|snapshot| {
                let table = self.find(snapshot, schema, table)?;
                content::keys(snapshot, &table, &request.prefix, is_in_path)
            }),
            _ => Ok(Completion::default()),
        }
    }

    fn versions(&self, uris: &[String]) -> Result<Vec<Option<String>>> {
        // All resources change together with the database.
        let version = self.database.version()?;
        Ok(vec![Some(version); uris.len()])
    }

    fn search(&self, query: &SearchQuery) -> Result<Hits> {
        self.database.read(|snapshot| self.hits(snapshot, query))
    }
}

impl Postgres {
    fn tables(&self, snapshot: &mut Snapshot, schema: Option<&str>) -> Result<Vec<Table>> {
        schema::tables(
            snapshot,
            Selection {
                schema,
                ..self.selection()
            },
        )
    }

    /// A table that the operator offers and the user may read.
    fn find(&self, snapshot: &mut Snapshot, schema: &str, table: &str) -> Result<Table> {
        let selection = Selection {
            schema: Some(schema),
            table: Some(table),
            ..self.selection()
        };
        schema::tables(snapshot, selection)?
            .pop()
            .ok_or(Error::NotFound)
    }

    fn entries(&self, snapshot: &Snapshot, tables: &[Table]) -> Vec<Entry> {
        let mut entries: Vec<_> = schemas(tables)
            .map(|name| self.schema_entry(snapshot, name))
            .collect();
        entries.extend(tables.iter().map(|table| self.table_entry(snapshot, table)));
        let saved = self
            .settings
            .queries
            .iter()
            .filter(|(_, saved)| saved.statement.names.is_empty());
        entries.extend(saved.map(|(name, saved)| self.query_entry(snapshot, name, saved)));
        entries
    }

    fn selection(&self) -> Selection<'_> {
        Selection {
            offered: self.settings.schemas.as_deref(),
            ..Selection::default()
        }
    }

    fn schema_entry(&self, snapshot: &Snapshot, name: &str) -> Entry {
        Entry::new(self.addresses.schema(name), name)
            .description("the tables and views of this schema, as SQL")
            .mime("application/sql")
            .version(&snapshot.version)
            .details(Details::kind("schema").priority(0.9))
    }

    fn table_entry(&self, snapshot: &Snapshot, table: &Table) -> Entry {
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let kind = if table.is_view() { "view" } else { "table" };
        let comment = table
            .comment
            .as_ref()
            .map(|comment| format!("{comment}: "))
            .unwrap_or_default();
        Entry::new(
            self.addresses.table(&table.schema, &table.name),
            &table.name,
        )
        .description(format!(
            "{comment}{kind} with the columns {}",
            columns.join(", ")
        ))
        .mime("application/json")
        .version(&snapshot.version)
        .details(Details::kind(kind))
    }

    fn query_entry(&self, snapshot: &Snapshot, name: &str, saved: &SavedQuery) -> Entry {
        let mut entry = Entry::new(self.addresses.query(name), name);
        (entry.title, entry.description) = (saved.title.clone(), saved.description.clone());
        entry
            .mime("application/json")
            .version(&snapshot.version)
            .details(Details::kind("query"))
    }

    /// The template of a saved query, with the types that the database gives its parameters.
    fn query_template(&self, name: &str, saved: &SavedQuery, types: Vec<String>) -> Template {
        let names = &saved.statement.names;
        let typed: Vec<_> = names
            .iter()
            .zip(types)
            .map(|(name, kind)| format!("`{name}` is {kind}"))
            .collect();
        let mut template = Template::new(self.addresses.query_template(name, names), name);
        template.title.clone_from(&saved.title);
        let parts = saved
            .description
            .iter()
            .cloned()
            .chain((!typed.is_empty()).then(|| typed.join(", ")));
        template.description =
            Some(parts.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty());
        template
    }
}

/// The names of the schemas of tables, which are sorted.
fn schemas(tables: &[Table]) -> impl Iterator<Item = &str> {
    tables
        .chunk_by(|a, b| a.schema == b.schema)
        .filter_map(|tables| Some(tables.first()?.schema.as_str()))
}
