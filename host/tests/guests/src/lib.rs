//! Shared code of the test guests: bindings generated from `wit/` without the SDK, and a trait with a default for each
//! function, so that a guest only implements its special behaviour.

/// The bindings that `wit-bindgen` generates from the contract.
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "provider",
        pub_export_macro: true,
        export_macro_name: "export",
        default_bindings_module: "guests::bindings",
    });
}

pub use bindings::export;
pub use bindings::exports::larder::provider::resource_provider::{
    Description, EntryPage, ListQuery, ReadRequest, Reading, TemplateMatch, TemplatePage, Variable,
};
pub use bindings::larder::provider::provider_types::{
    Body, Caller, Content, Details, Entry, Error, Freshness, Icon, Role, Scope, Template, Theme,
};
pub use bindings::larder::provider::{http_client, key_value, provider_host as host};

/// The functions of a guest.
pub trait Behaviour {
    fn describe() -> Description {
        description()
    }

    /// The entries of `list-resources`, which has one page.
    fn entries() -> Vec<Entry> {
        vec![]
    }

    fn list(_query: ListQuery) -> Result<EntryPage, Error> {
        Ok(EntryPage {
            entries: Self::entries(),
            next_cursor: None,
            freshness: None,
        })
    }

    /// The URI templates of `list-templates`, which has one page.
    fn templates() -> Vec<&'static str> {
        vec![]
    }

    fn match_uri(_uri: String) -> Option<TemplateMatch> {
        None
    }

    fn read(_request: ReadRequest) -> Result<Reading, Error> {
        Err(Error::NotFound)
    }
}

impl<T: Behaviour> bindings::exports::larder::provider::resource_provider::Guest for T {
    fn describe() -> Description {
        T::describe()
    }

    fn list_resources(query: ListQuery) -> Result<EntryPage, Error> {
        T::list(query)
    }

    fn list_templates(_cursor: Option<String>) -> Result<TemplatePage, Error> {
        let templates = T::templates().into_iter().map(template).collect();
        Ok(TemplatePage {
            templates,
            next_cursor: None,
            freshness: None,
        })
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        T::match_uri(uri)
    }

    fn read_resource(request: ReadRequest) -> Result<Reading, Error> {
        T::read(request)
    }
}

/// A description without any fields.
pub fn description() -> Description {
    Description {
        title: None,
        version: None,
        summary: None,
        instructions: None,
        claims: vec![],
    }
}

/// An entry with a URI and a name.
pub fn entry(uri: &str) -> Entry {
    Entry {
        uri: uri.to_owned(),
        name: uri.to_owned(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        version: None,
        details: None,
    }
}

/// A template whose name is its URI template.
pub fn template(uri_template: &str) -> Template {
    Template {
        uri_template: uri_template.to_owned(),
        name: uri_template.to_owned(),
        title: None,
        description: None,
        mime_type: None,
        details: None,
    }
}

/// Details without any fields.
pub fn details() -> Details {
    Details {
        kind: None,
        audience: vec![],
        priority: None,
        last_modified: None,
        icons: vec![],
        metadata: vec![],
    }
}

/// A content under the requested URI.
pub fn content(body: Body, mime_type: &str) -> Content {
    Content {
        uri: None,
        mime_type: Some(mime_type.to_owned()),
        body,
        metadata: vec![],
    }
}

/// A result with several contents.
pub fn reading(contents: Vec<Content>) -> Result<Reading, Error> {
    Ok(Reading {
        contents,
        version: None,
        freshness: None,
    })
}

/// A result with one text.
pub fn text(text: impl Into<String>) -> Result<Reading, Error> {
    reading(vec![content(Body::Text(text.into()), "text/plain")])
}

/// A variable without a key.
pub fn variable(name: &str, value: impl Into<String>) -> Variable {
    Variable {
        name: name.to_owned(),
        key: None,
        value: value.into(),
    }
}

/// The value of a template variable, or "".
pub fn value<'a>(request: &'a ReadRequest, name: &str) -> &'a str {
    let values = request
        .matched
        .iter()
        .flat_map(|matched| &matched.variables);
    values
        .into_iter()
        .find(|variable| variable.name == name)
        .map_or("", |variable| &variable.value)
}

/// Whether this guest is to misbehave in this function. The setting `in` names the function; the default is
/// `read`.
pub fn misbehaves_in(function: &str) -> bool {
    host::setting("in").as_deref().unwrap_or("read") == function
}

/// Returns the result of an operation that the host may refuse, as text.
pub fn outcome<T: std::fmt::Debug, E: std::fmt::Display>(
    result: Result<T, E>,
) -> Result<Reading, Error> {
    text(match result {
        Ok(value) => format!("ok: {value:?}"),
        Err(error) => format!("refused: {error}"),
    })
}
