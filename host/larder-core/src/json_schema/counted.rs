//! JSON values that count how often a validation looks at them. Keywords of ours are evaluated after all others of a
//! schema, and not at all if one of those fails, so they alone do not bound a validation.

use std::borrow::Cow;

use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use jsonschema::{JsonType, Keyword, ValidationError};
use serde_json::{Map, Number, Value};

use super::effort::{count, count_evaluation, count_names, count_text};

/// The representation of values.
pub(super) struct Counted;

/// A value that is validated.
#[derive(Clone, Copy)]
pub(super) struct CountedNode<'a>(pub(super) &'a Value);

pub(super) struct CountedObject<'a>(&'a Map<String, Value>);

pub(super) struct CountedArray<'a>(&'a [Value]);

/// Counts evaluations of the schema object that has it. Never fails.
pub(super) struct EffortKeyword {
    weight: u64,
}

impl EffortKeyword {
    pub(super) fn new(weight: &Value) -> Self {
        Self { weight: weight.as_u64().unwrap_or(1) }
    }
}

impl<'i> Keyword<'i, Counted> for EffortKeyword {
    fn validate(&self, instance: CountedNode<'i>) -> Result<(), ValidationError<'i>> {
        count_evaluation(self.weight, instance.0);
        Ok(())
    }

    fn is_valid(&self, instance: CountedNode<'i>) -> bool {
        count_evaluation(self.weight, instance.0);
        true
    }
}

impl Json for Counted {
    type Node<'a> = CountedNode<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(_: &mut (), string: &str, f: impl FnOnce(CountedNode<'_>) -> T) -> T {
        SerdeJson::with_string_node(&mut (), string, |value| f(CountedNode(value)))
    }
}

impl<'a> Node<'a, Counted> for CountedNode<'a> {
    type Object = CountedObject<'a>;
    type Array = CountedArray<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<CountedObject<'a>> {
        count(1);
        self.0.as_object().map(CountedObject)
    }

    fn as_array(&self) -> Option<CountedArray<'a>> {
        count(1);
        self.0.as_array().map(|items| CountedArray(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.0.as_str();
        text.map_or_else(|| count(1), count_text);
        text.map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        count(1);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        count(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        count(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        count(1);
        match self.0 {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn string_length(&self) -> Option<u64> {
        count(1);
        Node::<SerdeJson>::string_length(&self.0)
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        count(1);
        Node::<SerdeJson>::string_length_within(&self.0, min, max)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        count(1);
        Node::<SerdeJson>::equals_value(&self.0, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Node::<SerdeJson>::identity(&self.0)
    }
}

impl<'a> Object<'a, Counted> for CountedObject<'a> {
    type Node = CountedNode<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        count(1);
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<CountedNode<'a>> {
        count(1);
        self.0.get(key.as_str()).map(CountedNode)
    }

    fn members(&self) -> Members<'a> {
        count_names(self.0);
        Members(self.0.iter())
    }
}

/// The members of an object.
pub(super) struct Members<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, CountedNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        count(1);
        self.0.next().map(|(name, value)| (name.as_str(), CountedNode(value)))
    }
}

impl<'a> Array<'a, Counted> for CountedArray<'a> {
    type Node = CountedNode<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        count(1);
        self.0.len()
    }

    fn elements(&self) -> Elements<'a> {
        count(1);
        Elements(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        count(self.0.len() as u64);
        Array::<SerdeJson>::is_unique(&self.0)
    }
}

/// The elements of an array.
pub(super) struct Elements<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for Elements<'a> {
    type Item = CountedNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        count(1);
        self.0.next().map(CountedNode)
    }
}
