//! Tables of a database: several variables in one segment. The completion of a variable depends on the values of the
//! others.

use exports::larder::provider::completion_provider::{Completion, CompletionRequest, Guest};
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:schema;
        world optional { export larder:provider/completion-provider@0.1.0; }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct Schema;

const TABLES: [(&str, &str, &str); 4] = [
    ("main", "public", "users"),
    ("main", "public", "orders"),
    ("main", "audit", "log"),
    ("archive", "old", "users"),
];

impl Behaviour for Schema {
    fn templates() -> Vec<&'static str> {
        vec!["schema://{catalog}.{schema_name}/{table}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        let requested = ["catalog", "schema_name", "table"].map(|name| value(&request, name));
        match TABLES
            .iter()
            .any(|(catalog, schema, table)| requested == [*catalog, *schema, *table])
        {
            true => text(requested.join(" > ")),
            false => Err(Error::NotFound),
        }
    }
}

impl Guest for Schema {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        let filled = |name: &str, own: &str| {
            request
                .filled
                .iter()
                .find(|(key, _)| key == name)
                .is_none_or(|(_, value)| value == own)
        };
        let fits = |(catalog, schema, table): &&(&str, &str, &str)| {
            filled("catalog", catalog) && filled("schema_name", schema) && filled("table", table)
        };
        let own =
            |&(catalog, schema, table): &(&'static str, &'static str, &'static str)| match request
                .variable
                .as_str()
            {
                "catalog" => catalog,
                "schema_name" => schema,
                _ => table,
            };
        let mut values: Vec<String> = TABLES
            .iter()
            .filter(fits)
            .map(own)
            .map(ToOwned::to_owned)
            .collect();
        values.retain(|value| value.starts_with(&request.prefix));
        values.sort();
        values.dedup();
        Ok(Completion {
            total: Some(values.len() as u64),
            values,
            more: false,
        })
    }
}

guests::export!(Schema);
export_optional!(Schema);
