//! A compiled schema: nodes that refer to each other by index.

use serde_json::{Number, Value};

use crate::equality::ValueSet;
use crate::number::{Decimal, ExactNumber};
use crate::pattern::Pattern;

/// The index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

/// The index of a resource: the part of a document with a URI of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ResourceId(pub(crate) u32);

/// A schema object, or `true` or `false`.
pub(crate) struct Node {
    pub(crate) resource: ResourceId,
    pub(crate) keywords: Vec<Keyword>,
    /// The node that is evaluated instead of this node, which only contains a reference.
    pub(crate) alias: Option<NodeId>,
    /// Whether the schema has `unevaluatedItems` or `unevaluatedProperties`.
    pub(crate) has_unevaluated: bool,
}

/// A keyword. A keyword without a draft in its name has the same meaning in all drafts.
pub(crate) enum Keyword {
    /// The schema `false`.
    Never,
    Type(TypeSet),
    Const(Value),
    Enum(ValueSet),
    Bound(Bound),
    MultipleOf(Number, Decimal),
    Size(Size),
    Pattern(Pattern),
    UniqueItems,
    Required(Vec<String>),
    DependentRequired(Vec<(String, Vec<String>)>),
    Items(Items),
    Contains(Contains),
    Properties(Properties),
    PropertyNames(NodeId),
    Reference(NodeId),
    DynamicReference(DynamicReference),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If(Condition),
    DependentSchemas(Vec<(String, NodeId)>),
    UnevaluatedItems(NodeId),
    UnevaluatedProperties(NodeId),
}

/// The types that a value may have, as a set of bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TypeSet(pub(crate) u8);

/// `minimum`, `maximum` and their exclusive forms.
pub(crate) struct Bound {
    pub(crate) kind: BoundKind,
    pub(crate) limit: Number,
    pub(crate) exact: ExactNumber,
}

#[derive(Clone, Copy)]
pub(crate) enum BoundKind {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

/// `minLength`, `maxItems` and the like.
pub(crate) struct Size {
    pub(crate) of: SizeOf,
    pub(crate) is_minimum: bool,
    pub(crate) limit: u64,
}

#[derive(Clone, Copy)]
pub(crate) enum SizeOf {
    Text,
    Items,
    Properties,
}

/// `prefixItems` and `items`, or `items` and `additionalItems`.
pub(crate) struct Items {
    pub(crate) first: Vec<NodeId>,
    pub(crate) rest: Option<NodeId>,
}

pub(crate) struct Contains {
    pub(crate) node: NodeId,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Whether `unevaluatedItems` ignores the items that the keyword found.
    pub(crate) marks_items: bool,
}

/// `properties`, `patternProperties` and `additionalProperties`.
pub(crate) struct Properties {
    /// Sorted by name.
    pub(crate) named: Vec<(String, NodeId)>,
    pub(crate) patterns: Vec<(Pattern, NodeId)>,
    pub(crate) others: Option<NodeId>,
}

/// A reference whose target depends on the resources through which the validation passed.
pub(crate) struct DynamicReference {
    pub(crate) target: NodeId,
    /// The target in each resource that has a target.
    pub(crate) targets: Vec<(ResourceId, NodeId)>,
}

pub(crate) struct Condition {
    pub(crate) condition: NodeId,
    pub(crate) then: Option<NodeId>,
    pub(crate) otherwise: Option<NodeId>,
}

impl Properties {
    fn nodes(&self) -> impl Iterator<Item = NodeId> {
        nodes_of(&self.named)
            .chain(nodes_of(&self.patterns))
            .chain(self.others)
    }
}

impl DynamicReference {
    pub(crate) fn target_in(&self, resource: ResourceId) -> Option<NodeId> {
        let mut targets = self.targets.iter();
        let (_, target) = targets.find(|(other, _)| *other == resource)?;
        Some(*target)
    }
}

impl Condition {
    fn nodes(&self) -> impl Iterator<Item = NodeId> {
        [Some(self.condition), self.then, self.otherwise]
            .into_iter()
            .flatten()
    }
}

fn nodes_of<T>(pairs: &[(T, NodeId)]) -> impl Iterator<Item = NodeId> {
    pairs.iter().map(|(_, node)| *node)
}

impl Size {
    pub(crate) fn permits(&self, count: u64) -> bool {
        if self.is_minimum {
            count >= self.limit
        } else {
            count <= self.limit
        }
    }
}

impl TypeSet {
    /// The bits of the types, in the order of messages.
    pub(crate) const NAMES: [(&'static str, u8); 7] = [
        ("null", 1),
        ("boolean", 2),
        ("integer", 4),
        ("number", 8),
        ("string", 16),
        ("array", 32),
        ("object", 64),
    ];

    pub(crate) fn contains(self, value: &Value) -> bool {
        let bits = match value {
            Value::Null => 1,
            Value::Bool(_) => 2,
            Value::Number(_) if self.0 & 12 == 4 => return is_integer(value),
            Value::Number(_) => 12,
            Value::String(_) => 16,
            Value::Array(_) => 32,
            Value::Object(_) => 64,
        };
        self.0 & bits != 0
    }

    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(_, bit)| self.0 & bit != 0)
            .map(|(name, _)| name)
    }
}

fn is_integer(value: &Value) -> bool {
    value
        .as_number()
        .is_some_and(|number| ExactNumber::new(number).is_integer())
}

impl Node {
    pub(crate) fn new(resource: ResourceId, keywords: Vec<Keyword>) -> Self {
        Self {
            resource,
            alias: None,
            has_unevaluated: keywords.iter().any(Keyword::is_unevaluated),
            keywords,
        }
    }
}

impl Keyword {
    fn is_unevaluated(&self) -> bool {
        matches!(
            self,
            Self::UnevaluatedItems(_) | Self::UnevaluatedProperties(_)
        )
    }

    /// The schemas that the keyword applies to the same value.
    pub(crate) fn in_place(&self) -> Vec<NodeId> {
        match self {
            Self::Reference(node) | Self::Not(node) => vec![*node],
            Self::AllOf(nodes) | Self::AnyOf(nodes) | Self::OneOf(nodes) => nodes.clone(),
            Self::DependentSchemas(schemas) => nodes_of(schemas).collect(),
            Self::If(condition) => condition.nodes().collect(),
            _ => vec![],
        }
    }

    /// All schemas that the keyword applies.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        match self {
            Self::Items(Items { first, rest }) => first.iter().chain(rest).copied().collect(),
            Self::Contains(Contains { node, .. })
            | Self::PropertyNames(node)
            | Self::UnevaluatedItems(node)
            | Self::UnevaluatedProperties(node) => vec![*node],
            Self::Properties(properties) => properties.nodes().collect(),
            Self::DynamicReference(DynamicReference { target, targets }) => {
                nodes_of(targets).chain([*target]).collect()
            }
            _ => self.in_place(),
        }
    }
}
