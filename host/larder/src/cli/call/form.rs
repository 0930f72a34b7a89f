//! The fields of a form that a tool asks its user to complete.

use serde_json::{Value, json};

/// One field of a form.
#[derive(Debug, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
    label: String,
    kind: Kind,
    /// The values that are possible. Empty if all are.
    choices: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    List,
}

/// Returns the fields of the schema of a form.
pub(super) fn fields(schema: &Value) -> Vec<Field> {
    let required: Vec<&str> = strings(&schema["required"]).collect();
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| Field::new(name, schema, required.contains(&name.as_str())))
        .collect()
}

impl Field {
    fn new(name: &str, schema: &Value, required: bool) -> Self {
        let kind = Kind::of(schema);
        let values = match kind {
            Kind::List => &schema["items"],
            _ => schema,
        };
        let text = |key: &str| schema[key].as_str();
        Self {
            name: name.to_owned(),
            required,
            default: schema.get("default").cloned(),
            label: text("title")
                .or(text("description"))
                .unwrap_or(name)
                .to_owned(),
            kind,
            choices: choices(values),
        }
    }

    /// Returns what is shown before the user enters a value.
    pub(super) fn prompt(&self) -> String {
        let mut notes = vec![self.expected()];
        if let Some(default) = &self.default {
            notes.push(format!("default {default}"));
        } else if !self.required {
            notes.push("optional".into());
        }
        format!("{} ({}): ", self.label, notes.join("; "))
    }

    /// Converts what the user entered.
    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        let value = self.convert(text);
        value.ok_or_else(|| format!("expected {}", self.expected()))
    }

    fn convert(&self, text: &str) -> Option<Value> {
        match self.kind {
            Kind::Text => self.choice(text).map(Value::from),
            Kind::Integer => text.parse::<i64>().ok().map(Value::from),
            Kind::Number => text.parse::<f64>().ok().map(Value::from),
            Kind::Boolean => boolean(text).map(Value::from),
            Kind::List => self.convert_list(text),
        }
    }

    fn convert_list(&self, text: &str) -> Option<Value> {
        let items = text.split(',').map(|item| self.choice(item.trim()));
        let items: Option<Vec<&str>> = items.collect();
        items.map(|items| json!(items))
    }

    fn choice<'a>(&self, text: &'a str) -> Option<&'a str> {
        let is_possible =
            self.choices.is_empty() || self.choices.iter().any(|choice| choice == text);
        is_possible.then_some(text)
    }

    /// Describes the values that are possible.
    fn expected(&self) -> String {
        let choices = self.choices.join(", ");
        match self.kind {
            Kind::Text if self.choices.is_empty() => "text".into(),
            Kind::Text => format!("one of {choices}"),
            Kind::Integer => "a whole number".into(),
            Kind::Number => "a number".into(),
            Kind::Boolean => "yes or no".into(),
            Kind::List => format!("some of {choices}, with commas"),
        }
    }
}

impl Kind {
    fn of(schema: &Value) -> Self {
        match schema["type"].as_str() {
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            Some("array") => Self::List,
            _ => Self::Text,
        }
    }
}

/// Returns the possible values: those of `enum`, or the constants of `oneOf` or `anyOf`.
fn choices(schema: &Value) -> Vec<String> {
    let listed = strings(&schema["enum"]).map(str::to_owned);
    let constants = ["oneOf", "anyOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array())
        .flatten()
        .filter_map(|choice| choice["const"].as_str())
        .map(str::to_owned);
    listed.chain(constants).collect()
}

fn strings(values: &Value) -> impl Iterator<Item = &str> {
    let values = values.as_array().into_iter().flatten();
    values.filter_map(Value::as_str)
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Value, text: &str, expected: Result<Value, &str>) {
        let field = Field::new("x", &schema, true);
        assert_eq!(field.parse(text), expected.map_err(str::to_owned));
    }

    #[test]
    fn values_have_the_type_of_the_field() {
        check(json!({ "type": "string" }), "2", Ok(json!("2")));
        check(json!({ "type": "integer" }), "2", Ok(json!(2)));
        check(
            json!({ "type": "integer" }),
            "2.5",
            Err("expected a whole number"),
        );
        check(json!({ "type": "number" }), "2.5", Ok(json!(2.5)));
        check(json!({ "type": "boolean" }), "Yes", Ok(json!(true)));
        check(
            json!({ "type": "boolean" }),
            "maybe",
            Err("expected yes or no"),
        );
    }

    #[test]
    fn values_are_among_the_choices() {
        let sizes = json!({ "type": "string", "enum": ["s", "m"] });
        check(sizes.clone(), "m", Ok(json!("m")));
        check(sizes, "l", Err("expected one of s, m"));
        let titled = json!({ "type": "string", "oneOf": [{ "const": "s", "title": "Small" }] });
        check(titled.clone(), "s", Ok(json!("s")));
        check(titled, "Small", Err("expected one of s"));
        let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b"] } });
        check(several.clone(), "a, b", Ok(json!(["a", "b"])));
        check(several, "c", Err("expected some of a, b, with commas"));
    }

    #[test]
    fn the_prompt_says_what_is_expected() {
        let schema = json!({
            "required": ["name"],
            "properties": {
                "age": { "type": "integer", "default": 7 },
                "name": { "type": "string", "title": "Your name" },
                "note": { "type": "string", "description": "A note" },
            },
        });
        let prompts: Vec<String> = fields(&schema).iter().map(Field::prompt).collect();
        let expected = [
            "age (a whole number; default 7): ",
            "Your name (text): ",
            "A note (text; optional): ",
        ];
        assert_eq!(prompts, expected);
        assert!(fields(&json!({ "properties": 1, "required": {} })).is_empty());
    }
}
