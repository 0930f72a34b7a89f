//! Edits of JSON files, with or without comments. The bytes of all other parts stay the same.

use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::client::Syntax;
use super::entry::{Entry, Value};
use super::error::EditError;

/// A byte order mark, with which some editors on Windows begin a file.
const MARK: char = '\u{feff}';

/// The place of an entry in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) syntax: Syntax,
    pub(super) section: &'a str,
    pub(super) name: &'a str,
}

/// Adds the entry, or changes its keys that differ.
pub(super) fn set(text: &str, place: Place<'_>, entry: &Entry) -> Result<String, EditError> {
    edit(text, place, |root| {
        let file = root
            .object_value_or_create()
            .ok_or_else(|| EditError::NotATable("it".into()))?;
        let section = match property(&file, place.section)? {
            Some(section) => table(&section, place.section)?,
            None => {
                let section = file.append(place.section, CstInputValue::Object(vec![]));
                table(&section, place.section)?
            }
        };
        match property(&section, place.name)? {
            Some(existing) => update(&table(&existing, place.name)?, entry),
            None => {
                let keys = entry
                    .0
                    .iter()
                    .map(|(key, value)| (key.clone(), input(value)));
                section.append(place.name, CstInputValue::Object(keys.collect()));
                Ok(())
            }
        }
    })
}

/// Removes the entry.
pub(super) fn remove(text: &str, place: Place<'_>) -> Result<String, EditError> {
    edit(text, place, |root| {
        if let Some(entry) = find(root, place)? {
            entry.remove();
        }
        Ok(())
    })
}

/// Returns the entry; none if it does not exist.
pub(super) fn entry(text: &str, place: Place<'_>) -> Result<Option<Entry>, EditError> {
    let root = parse(text.trim_start_matches(MARK), place.syntax)?;
    let Some(entry) = find(&root, place)? else {
        return Ok(None);
    };
    let keys = table(&entry, place.name)?.properties().into_iter();
    Ok(Some(Entry(
        keys.map(|key| (key.decoded_name().unwrap_or_default(), value(&key)))
            .collect(),
    )))
}

fn edit(
    text: &str,
    place: Place<'_>,
    change: impl FnOnce(&CstRootNode) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(body) => (String::from(MARK), body),
        None => (String::new(), text),
    };
    let root = parse(body, place.syntax)?;
    change(&root)?;
    Ok(mark + &root.to_string())
}

fn parse(text: &str, syntax: Syntax) -> Result<CstRootNode, EditError> {
    let lenient = syntax == Syntax::JsonWithComments;
    let options = ParseOptions {
        allow_comments: lenient,
        allow_trailing_commas: lenient,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let invalid = |error: ParseError| EditError::Invalid(error.to_string());
    // The editable tree keeps comments as tokens, and accepts comments with any options.
    parse_to_ast(text, &CollectOptions::default(), &options).map_err(invalid)?;
    CstRootNode::parse(text, &options).map_err(invalid)
}

fn find(root: &CstRootNode, place: Place<'_>) -> Result<Option<CstObjectProp>, EditError> {
    let file = match root.value() {
        None => return Ok(None),
        Some(value) => value
            .as_object()
            .ok_or_else(|| EditError::NotATable("it".into()))?,
    };
    match property(&file, place.section)? {
        Some(section) => property(&table(&section, place.section)?, place.name),
        None => Ok(None),
    }
}

/// Returns the property with this name. If there are two, programs differ in which property they read.
fn property(object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, EditError> {
    let mut found = object
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(name));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(EditError::Duplicate(name.to_owned())),
        (first, None) => Ok(first),
    }
}

fn table(property: &CstObjectProp, name: &str) -> Result<CstObject, EditError> {
    property
        .object_value()
        .ok_or_else(|| EditError::NotATable(format!("its `{name}`")))
}

fn update(object: &CstObject, entry: &Entry) -> Result<(), EditError> {
    remove_replaced(object, entry);
    for (key, wanted) in &entry.0 {
        match (property(object, key)?, wanted) {
            (Some(existing), Value::Map(pairs)) if existing.object_value().is_some() => {
                set_all(&table(&existing, key)?, &entry_of(pairs))?;
            }
            (Some(existing), _) if value(&existing) == *wanted => {}
            (Some(existing), _) => existing.set_value(input(wanted)),
            (None, _) => {
                object.append(key, input(wanted));
            }
        }
    }
    Ok(())
}

fn remove_replaced(object: &CstObject, entry: &Entry) {
    for property in object.properties() {
        let name = property.decoded_name();
        if name.is_some_and(|key| entry.replaces(&key)) {
            property.remove();
        }
    }
}

fn entry_of(pairs: &[(String, String)]) -> Entry {
    let pairs = pairs.iter();
    let pairs = pairs.map(|(key, text)| (key.clone(), Value::Text(text.clone())));
    Entry(pairs.collect())
}

fn set_all(object: &CstObject, pairs: &Entry) -> Result<(), EditError> {
    for (key, wanted) in &pairs.0 {
        match property(object, key)? {
            Some(existing) if value(&existing) == *wanted => {}
            Some(existing) => existing.set_value(input(wanted)),
            None => {
                object.append(key, input(wanted));
            }
        }
    }
    Ok(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::List(items) => items.clone().into(),
        Value::Map(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(key, text)| (key.clone(), text.clone().into()));
            CstInputValue::Object(pairs.collect())
        }
        Value::Other => CstInputValue::Null,
    }
}

fn value(property: &CstObjectProp) -> Value {
    let known = property.value().and_then(|node| {
        if let Some(object) = node.as_object() {
            let pairs = object.properties().into_iter();
            let pairs = pairs.map(|pair| Some((pair.decoded_name()?, string(&pair.value()?)?)));
            return pairs.collect::<Option<_>>().map(Value::Map);
        }
        if let Some(array) = node.as_array() {
            return array
                .elements()
                .iter()
                .map(string)
                .collect::<Option<_>>()
                .map(Value::List);
        }
        string(&node).map(Value::Text)
    });
    known.unwrap_or(Value::Other)
}

fn string(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}
