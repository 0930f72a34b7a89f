//! Compiles a schema into nodes. First all schemas in the document become nodes. Then the references of all nodes that
//! the root can reach are resolved. A reference can lead to a place that would otherwise not be a schema. At the end,
//! chains of references are checked.

mod applicators;
mod assertions;
mod chains;
mod object;
mod references;

use std::collections::{HashMap, HashSet};

use fluent_uri::Uri;
use serde_json::{Map, Value};

use self::object::SchemaObject;
use self::references::{Anchors, PendingReference};
use crate::draft::Draft;
use crate::node::{Keyword, Node, NodeId, ResourceId};
use crate::{InvalidSchema, JsonSchema};

/// Maximum depth of a schema.
pub(crate) const MAX_NESTING: usize = 64;
/// Maximum number of schemas in a chain that apply to the same value.
pub(crate) const MAX_CHAIN: usize = 128;
/// The URI of a document without a URI.
const DEFAULT_URI: &str = "json-schema:///";

/// The part of a document with a URI of its own.
struct Resource<'d> {
    uri: Uri<String>,
    root: &'d Value,
    draft: Draft,
}

/// Where a schema is.
#[derive(Clone, Copy)]
struct Place {
    resource: ResourceId,
    draft: Draft,
    depth: usize,
}

struct Compiler<'d> {
    pattern_size: usize,
    nodes: Vec<Node>,
    /// The nodes by the addresses of their values in the document.
    ids: HashMap<*const Value, NodeId>,
    resources: Vec<Resource<'d>>,
    anchors: Anchors,
    references: HashMap<NodeId, Vec<PendingReference<'d>>>,
}

/// Compiles a schema.
pub(crate) fn compile(document: &Value, pattern_size: usize) -> Result<JsonSchema, InvalidSchema> {
    let draft = draft_of(document)?;
    let uri = Uri::parse(DEFAULT_URI.to_owned())
        .map_err(|_| InvalidSchema::MissingTarget(String::new()))?;
    let mut compiler = Compiler {
        pattern_size,
        nodes: vec![],
        ids: HashMap::new(),
        resources: vec![Resource {
            uri,
            root: document,
            draft,
        }],
        anchors: Anchors::default(),
        references: HashMap::new(),
    };
    let root = compiler.schema(document, Place::of_root(ResourceId(0), draft))?;
    let reachable = compiler.resolve_from(root)?;
    chains::check(&mut compiler.nodes, &reachable)?;
    Ok(JsonSchema {
        nodes: compiler.nodes,
        root,
    })
}

fn draft_of(document: &Value) -> Result<Draft, InvalidSchema> {
    let draft = match document {
        Value::Object(members) => Draft::named_by(members)?,
        _ => None,
    };
    Ok(draft.unwrap_or(Draft::Draft2020))
}

impl Place {
    fn of_root(resource: ResourceId, draft: Draft) -> Self {
        Self {
            resource,
            draft,
            depth: 0,
        }
    }
}

impl<'d> Compiler<'d> {
    /// Compiles the schema at a place, unless it was already compiled.
    fn schema(&mut self, schema: &'d Value, place: Place) -> Result<NodeId, InvalidSchema> {
        if let Some(id) = self.ids.get(&std::ptr::from_ref(schema)) {
            return Ok(*id);
        }
        if place.depth > MAX_NESTING {
            return Err(InvalidSchema::TooDeep);
        }
        let id = NodeId(self.nodes.len() as u32);
        self.ids.insert(schema, id);
        self.nodes.push(Node::new(place.resource, vec![]));
        match schema {
            Value::Bool(true) => {}
            Value::Bool(false) => self.nodes[id.0 as usize].keywords.push(Keyword::Never),
            Value::Object(members) => self.object(id, schema, members, place)?,
            _ => return Err(InvalidSchema::NoSchema),
        }
        Ok(id)
    }

    /// Resolves the references of all nodes that a node can reach, and returns these nodes. References that depend on
    /// anchors in all resources are resolved last.
    fn resolve_from(&mut self, root: NodeId) -> Result<Vec<NodeId>, InvalidSchema> {
        let mut reachable = HashSet::new();
        let mut nodes = vec![root];
        let mut postponed = vec![];
        loop {
            while let Some(node) = nodes.pop() {
                if !reachable.insert(node) {
                    continue;
                }
                for reference in self.references.remove(&node).unwrap_or_default() {
                    if reference.is_fixed() {
                        self.resolve(&reference)?;
                    } else {
                        postponed.push(reference);
                    }
                }
                let keywords = self.nodes[node.0 as usize].keywords.iter();
                nodes.extend(keywords.flat_map(Keyword::nodes));
            }
            let Some(reference) = postponed.pop() else {
                return Ok(reachable.into_iter().collect());
            };
            nodes.push(self.resolve(&reference)?);
        }
    }

    fn object(
        &mut self,
        id: NodeId,
        schema: &'d Value,
        members: &'d Map<String, Value>,
        place: Place,
    ) -> Result<(), InvalidSchema> {
        let place = self.identify(id, schema, members, place)?;
        let object = SchemaObject { members, place };
        let keywords = self.keywords(id, object)?;
        self.nodes[id.0 as usize] = Node::new(place.resource, keywords);
        Ok(())
    }
}
