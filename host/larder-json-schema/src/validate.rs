//! Validates a value. A node is evaluated by a recursive function. The depth of the recursion is counted, so that its
//! stack is limited.

mod assertions;
mod combinations;
mod evaluated_children;
mod items;
mod properties;
mod report;

use serde_json::Value;

use self::evaluated_children::EvaluatedChildren;
use self::report::{Location, Report};
use crate::effort::EffortError;
use crate::node::{Keyword, Node, NodeId, ResourceId};
use crate::{Effort, JsonSchema, SchemaError};

/// Maximum number of nested evaluations of nodes.
pub(crate) const MAX_DEPTH: usize = 256;

/// Whether something is valid, unless the validation ended early.
type Outcome = Result<bool, EffortError>;

/// A validation.
struct Validation<'s, 'e, 'c> {
    nodes: &'s [Node],
    effort: &'e mut Effort<'c>,
    depth: usize,
    /// The resources through which the validation came.
    resources: Vec<ResourceId>,
    /// The errors; none if the errors are not requested.
    report: Option<Report>,
}

/// Validates a value. The errors are described in a second pass, because few values have errors.
pub(crate) fn validate(
    schema: &JsonSchema,
    value: &Value,
    effort: &mut Effort<'_>,
) -> Result<(), SchemaError> {
    let root = Location::root(value);
    let mut validation = Validation {
        nodes: &schema.nodes,
        effort,
        depth: 0,
        resources: vec![],
        report: None,
    };
    if validation.evaluate(schema.root, &root, None)? {
        return Ok(());
    }
    validation.report = Some(Report::default());
    validation.evaluate(schema.root, &root, None)?;
    let report = validation.report.unwrap_or_default();
    Err(SchemaError::Mismatch(report.text))
}

impl<'s> Validation<'s, '_, '_> {
    /// Evaluates a node for a value. `evaluated` collects the evaluated members and items, for `unevaluated…` keywords
    /// of other nodes.
    fn evaluate<'v>(
        &mut self,
        id: NodeId,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let node = self.node(id);
        let node = node.alias.map_or(node, |target| self.node(target));
        self.effort.spend(1 + node.keywords.len() as u64)?;
        if self.depth == MAX_DEPTH {
            return Err(EffortError::Depth);
        }
        self.depth += 1;
        let is_other_resource = self.resources.last() != Some(&node.resource);
        if is_other_resource {
            self.resources.push(node.resource);
        }
        let is_valid = if node.has_unevaluated {
            self.evaluate_with_unevaluated(node, at, evaluated)?
        } else {
            self.evaluate_keywords(node, at, evaluated)?
        };
        if is_other_resource {
            self.resources.pop();
        }
        self.depth -= 1;
        Ok(is_valid)
    }

    fn node(&self, id: NodeId) -> &'s Node {
        &self.nodes[id.0 as usize]
    }

    fn evaluate_with_unevaluated<'v>(
        &mut self,
        node: &'s Node,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let mut own = EvaluatedChildren::default();
        let is_valid = self.evaluate_keywords(node, at, Some(&mut own))?;
        if let Some(evaluated) = evaluated.filter(|_| is_valid) {
            evaluated.add_all(own, self.effort)?;
        }
        Ok(is_valid)
    }

    fn evaluate_keywords<'v>(
        &mut self,
        node: &'s Node,
        at: &Location<'v>,
        mut evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let mut is_valid = true;
        for keyword in &node.keywords {
            if !self.keyword(keyword, at, evaluated.as_deref_mut())? {
                is_valid = false;
                if self.report.as_ref().is_none_or(Report::is_full) {
                    break;
                }
            }
        }
        Ok(is_valid)
    }

    /// Each keyword has a function of its own, so that the stack of this function stays small.
    fn keyword<'v>(
        &mut self,
        keyword: &'s Keyword,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        match keyword {
            Keyword::Items(items) => self.items(items, at, evaluated),
            Keyword::Contains(contains) => self.contains(contains, at, evaluated),
            Keyword::Properties(properties) => self.properties(properties, at, evaluated),
            Keyword::PropertyNames(node) => self.property_names(*node, at),
            Keyword::Reference(node) => self.evaluate(*node, at, evaluated),
            Keyword::DynamicReference(reference) => {
                self.dynamic_reference(reference, at, evaluated)
            }
            Keyword::AllOf(nodes) => self.all_of(nodes, at, evaluated),
            Keyword::AnyOf(nodes) => self.any_of(nodes, at, evaluated),
            Keyword::OneOf(nodes) => self.one_of(nodes, at, evaluated),
            Keyword::Not(node) => self.not(*node, at),
            Keyword::If(condition) => self.condition(condition, at, evaluated),
            Keyword::DependentSchemas(schemas) => self.dependent_schemas(schemas, at, evaluated),
            Keyword::UnevaluatedItems(node) => self.unevaluated_items(*node, at, evaluated),
            Keyword::UnevaluatedProperties(node) => {
                self.unevaluated_properties(*node, at, evaluated)
            }
            assertion => self.assertion(assertion, at),
        }
    }

    /// Evaluates a node without a report of its errors.
    fn is_valid<'v>(
        &mut self,
        id: NodeId,
        at: &Location<'v>,
        evaluated: Option<&mut EvaluatedChildren<'v>>,
    ) -> Outcome {
        let report = self.report.take();
        let is_valid = self.evaluate(id, at, evaluated)?;
        self.report = report;
        Ok(is_valid)
    }

    /// Reports an error, unless something is valid.
    fn check(
        &mut self,
        is_valid: bool,
        at: &Location<'_>,
        message: std::fmt::Arguments<'_>,
    ) -> Outcome {
        if is_valid {
            Ok(true)
        } else {
            self.fail(at, message)
        }
    }

    /// Reports an error. Always returns that the value is not valid.
    fn fail(&mut self, at: &Location<'_>, message: std::fmt::Arguments<'_>) -> Outcome {
        if let Some(report) = &mut self.report {
            report.add(at, message);
        }
        Ok(false)
    }
}
