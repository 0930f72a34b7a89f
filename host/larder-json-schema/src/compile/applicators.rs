//! Keywords that apply schemas to a value or to its parts.

use serde_json::Value;

use super::object::{SchemaObject, names};
use super::references::ReferenceKind;
use super::{Compiler, Place};
use crate::InvalidSchema;
use crate::compile::assertions;
use crate::draft::Draft;
use crate::node::{Condition, Contains, Items, Keyword, NodeId, Properties};
use crate::pattern::Pattern;

/// Creates a keyword whose value is a list of schemas, such as `anyOf`.
type Combine = fn(Vec<NodeId>) -> Keyword;

/// Schemas by name.
type NamedSchemas = Vec<(String, NodeId)>;

impl<'d> Compiler<'d> {
    /// Compiles the keywords of a schema, in the order in which they are evaluated.
    pub(super) fn keywords(
        &mut self,
        id: NodeId,
        object: SchemaObject<'d>,
    ) -> Result<Vec<Keyword>, InvalidSchema> {
        let draft = object.place.draft;
        let mut keywords = vec![];
        self.add_definitions(object)?;
        self.add_references(id, object, &mut keywords)?;
        if draft.ignores_siblings_of_references() && !keywords.is_empty() {
            return Ok(keywords);
        }
        object.check_annotations()?;
        assertions::add(object, self.pattern_size, &mut keywords)?;
        self.add_for_items(object, &mut keywords)?;
        self.add_for_members(object, &mut keywords)?;
        self.add_dependencies(object, &mut keywords)?;
        self.add_combinations(object, &mut keywords)?;
        if let Some(node) = self.schema_since(Draft::Draft2019, object, "unevaluatedItems")? {
            keywords.push(Keyword::UnevaluatedItems(node));
        }
        if let Some(node) = self.schema_since(Draft::Draft2019, object, "unevaluatedProperties")? {
            keywords.push(Keyword::UnevaluatedProperties(node));
        }
        Ok(keywords)
    }

    /// Compiles the schemas to which references lead.
    fn add_definitions(&mut self, object: SchemaObject<'d>) -> Result<(), InvalidSchema> {
        self.schemas_by_name(object, "definitions")?;
        if object.place.draft >= Draft::Draft2019 {
            self.schemas_by_name(object, "$defs")?;
            self.schema_in(object, "contentSchema")?;
        }
        Ok(())
    }

    fn add_references(
        &mut self,
        id: NodeId,
        object: SchemaObject<'d>,
        keywords: &mut Vec<Keyword>,
    ) -> Result<(), InvalidSchema> {
        for (keyword, kind) in ReferenceKind::KEYWORDS {
            if !kind.exists_in(object.place.draft) {
                continue;
            }
            if let Some(target) = object.text(keyword)? {
                let position = keywords.len();
                self.add_reference(id, position, kind, target, object.place);
                // This keyword is replaced when the target is known.
                keywords.push(Keyword::Never);
            }
        }
        Ok(())
    }

    fn add_for_items(
        &mut self,
        object: SchemaObject<'d>,
        keywords: &mut Vec<Keyword>,
    ) -> Result<(), InvalidSchema> {
        let has_prefix = object.place.draft >= Draft::Draft2020;
        let is_list = object.get("items").is_some_and(Value::is_array);
        let [first, rest] = match (has_prefix, is_list) {
            (true, _) => ["prefixItems", "items"],
            (false, true) => ["items", "additionalItems"],
            (false, false) => ["", "items"],
        };
        let first = self.schemas(object, first)?;
        let rest = self.schema_in(object, rest)?;
        if !first.is_empty() || rest.is_some() {
            keywords.push(Keyword::Items(Items { first, rest }));
        }
        if !has_prefix {
            self.schema_in(object, "additionalItems")?;
        }
        self.add_contains(object, keywords)
    }

    fn add_contains(
        &mut self,
        object: SchemaObject<'d>,
        keywords: &mut Vec<Keyword>,
    ) -> Result<(), InvalidSchema> {
        let Some(node) = self.schema_since(Draft::Draft6, object, "contains")? else {
            return Ok(());
        };
        let has_counts = object.place.draft >= Draft::Draft2019;
        let mut min = None;
        let mut max = None;
        if has_counts {
            min = object.count("minContains")?;
            max = object.count("maxContains")?;
        }
        let marks_items = object.place.draft >= Draft::Draft2020;
        keywords.push(Keyword::Contains(Contains {
            node,
            min: min.unwrap_or(1),
            max,
            marks_items,
        }));
        Ok(())
    }

    fn add_for_members(
        &mut self,
        object: SchemaObject<'d>,
        keywords: &mut Vec<Keyword>,
    ) -> Result<(), InvalidSchema> {
        let mut named = self.schemas_by_name(object, "properties")?;
        named.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut patterns = vec![];
        for (pattern, node) in self.schemas_by_name(object, "patternProperties")? {
            patterns.push((Pattern::new(&pattern, self.pattern_size)?, node));
        }
        let others = self.schema_in(object, "additionalProperties")?;
        if !named.is_empty() || !patterns.is_empty() || others.is_some() {
            keywords.push(Keyword::Properties(Properties {
                named,
                patterns,
                others,
            }));
        }
        if let Some(node) = self.schema_since(Draft::Draft6, object, "propertyNames")? {
            keywords.push(Keyword::PropertyNames(node));
        }
        Ok(())
    }

    fn add_dependencies(
        &mut self,
        object: SchemaObject<'d>,
        keywords: &mut Vec<Keyword>,
    ) -> Result<(), InvalidSchema> {
        let mut required = vec![];
        let mut schemas = vec![];
        if object.place.draft >= Draft::Draft2019 {
            schemas = self.schemas_by_name(object, "dependentSchemas")?;
            for (name, value) in object.object("dependentRequired")?.into_iter().flatten() {
                required.push((name.clone(), names("dependentRequired", value)?));
            }
        }
        for (name, value) in object.object("dependencies")?.into_iter().flatten() {
            if value.is_array() {
                required.push((name.clone(), names("dependencies", value)?));
            } else {
                schemas.push((name.clone(), self.schema(value, object.place.deeper(1))?));
            }
        }
        if !required.is_empty() {
            keywords.push(Keyword::DependentRequired(required));
        }
        if !schemas.is_empty() {
            keywords.push(Keyword::DependentSchemas(schemas));
        }
        Ok(())
    }

    fn add_combinations(
        &mut self,
        object: SchemaObject<'d>,
        keywords: &mut Vec<Keyword>,
    ) -> Result<(), InvalidSchema> {
        let lists: [(&str, Combine); 3] = [
            ("allOf", Keyword::AllOf),
            ("anyOf", Keyword::AnyOf),
            ("oneOf", Keyword::OneOf),
        ];
        for (keyword, variant) in lists {
            let nodes = self.schemas(object, keyword)?;
            if !nodes.is_empty() {
                keywords.push(variant(nodes));
            }
        }
        if let Some(node) = self.schema_in(object, "not")? {
            keywords.push(Keyword::Not(node));
        }
        let condition = self.schema_since(Draft::Draft7, object, "if")?;
        let then = self.schema_since(Draft::Draft7, object, "then")?;
        let otherwise = self.schema_since(Draft::Draft7, object, "else")?;
        if let Some(condition) = condition {
            keywords.push(Keyword::If(Condition {
                condition,
                then,
                otherwise,
            }));
        }
        Ok(())
    }

    /// The schema of a keyword.
    fn schema_in(
        &mut self,
        object: SchemaObject<'d>,
        keyword: &str,
    ) -> Result<Option<NodeId>, InvalidSchema> {
        let Some(schema) = object.get(keyword) else {
            return Ok(None);
        };
        if !matches!(schema, Value::Object(_) | Value::Bool(_)) {
            return Err(InvalidSchema::expected(keyword, "a schema"));
        }
        self.schema(schema, object.place.deeper(1)).map(Some)
    }

    fn schema_since(
        &mut self,
        draft: Draft,
        object: SchemaObject<'d>,
        keyword: &str,
    ) -> Result<Option<NodeId>, InvalidSchema> {
        if object.place.draft < draft {
            return Ok(None);
        }
        self.schema_in(object, keyword)
    }

    /// The schemas of a keyword whose value is a list of schemas.
    fn schemas(
        &mut self,
        object: SchemaObject<'d>,
        keyword: &str,
    ) -> Result<Vec<NodeId>, InvalidSchema> {
        let Some(schemas) = object.array(keyword)? else {
            return Ok(vec![]);
        };
        if schemas.is_empty() {
            return Err(InvalidSchema::expected(
                keyword,
                "an array of at least one schema",
            ));
        }
        let place = object.place.deeper(2);
        schemas
            .iter()
            .map(|schema| self.schema(schema, place))
            .collect()
    }

    fn schemas_by_name(
        &mut self,
        object: SchemaObject<'d>,
        keyword: &str,
    ) -> Result<NamedSchemas, InvalidSchema> {
        let place = object.place.deeper(1);
        let mut named = vec![];
        for (name, schema) in object.object(keyword)?.into_iter().flatten() {
            named.push((name.clone(), self.schema(schema, place)?));
        }
        Ok(named)
    }
}

impl Place {
    fn deeper(self, levels: usize) -> Self {
        Self {
            depth: self.depth + levels,
            ..self
        }
    }
}
