//! The names of schemas, and the references to these names within a document.

use std::collections::HashMap;

use fluent_uri::{Uri, UriRef};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::{Compiler, Place, Resource};
use crate::InvalidSchema;
use crate::draft::Draft;
use crate::node::{DynamicReference, Keyword, NodeId, ResourceId};

/// The name under which `$recursiveAnchor` is stored. Other names are not empty.
const RECURSIVE: &str = "";

/// The names of schemas in their resources.
#[derive(Default)]
pub(super) struct Anchors {
    fixed: HashMap<(ResourceId, String), NodeId>,
    dynamic: HashMap<(ResourceId, String), NodeId>,
}

/// A reference whose target is not known yet.
pub(super) struct PendingReference<'d> {
    node: NodeId,
    /// The position among its keywords.
    position: usize,
    kind: ReferenceKind,
    target: &'d str,
    resource: ResourceId,
}

impl PendingReference<'_> {
    /// Whether the target depends only on the document.
    pub(super) fn is_fixed(&self) -> bool {
        self.kind == ReferenceKind::Fixed
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    Fixed,
    Recursive,
    Dynamic,
}

impl ReferenceKind {
    pub(super) const KEYWORDS: [(&'static str, Self); 3] = [
        ("$ref", Self::Fixed),
        ("$recursiveRef", Self::Recursive),
        ("$dynamicRef", Self::Dynamic),
    ];

    pub(super) fn exists_in(self, draft: Draft) -> bool {
        match self {
            Self::Fixed => true,
            Self::Recursive => draft == Draft::Draft2019,
            Self::Dynamic => draft == Draft::Draft2020,
        }
    }
}

impl<'d> Compiler<'d> {
    /// Registers the names of a schema. Returns the place of the schema. If the schema has a URI, the place is a
    /// resource of its own.
    pub(super) fn identify(
        &mut self,
        id: NodeId,
        schema: &'d Value,
        members: &'d Map<String, Value>,
        mut place: Place,
    ) -> Result<Place, InvalidSchema> {
        let is_reference =
            place.draft.ignores_siblings_of_references() && members.contains_key("$ref");
        let keyword = place.draft.id_keyword();
        if let Some(name) = members.get(keyword).filter(|_| !is_reference) {
            let name = name
                .as_str()
                .ok_or(InvalidSchema::expected(keyword, "a URI"))?;
            let (uri, fragment) = split_fragment(name);
            if !uri.is_empty() {
                place = self.add_resource(schema, members, uri, place)?;
            }
            if !fragment.is_empty() {
                self.add_anchor_in_id(id, fragment, place)?;
            }
        }
        self.add_anchors(id, members, place)?;
        Ok(place)
    }

    fn add_resource(
        &mut self,
        schema: &'d Value,
        members: &'d Map<String, Value>,
        uri: &str,
        place: Place,
    ) -> Result<Place, InvalidSchema> {
        let uri = self.absolute(uri, place.resource);
        let uri = uri.ok_or(InvalidSchema::expected(place.draft.id_keyword(), "a URI"))?;
        let draft = Draft::named_by(members)?.unwrap_or(place.draft);
        let resource = ResourceId(self.resources.len() as u32);
        self.resources.push(Resource {
            uri,
            root: schema,
            draft,
        });
        Ok(Place {
            resource,
            draft,
            ..place
        })
    }

    fn add_anchor_in_id(
        &mut self,
        id: NodeId,
        name: &str,
        place: Place,
    ) -> Result<(), InvalidSchema> {
        if !place.draft.has_anchors_in_ids() {
            return Err(InvalidSchema::expected(
                place.draft.id_keyword(),
                "a URI without a fragment",
            ));
        }
        self.anchors
            .fixed
            .insert((place.resource, name.to_owned()), id);
        Ok(())
    }

    fn add_anchors(
        &mut self,
        id: NodeId,
        members: &Map<String, Value>,
        place: Place,
    ) -> Result<(), InvalidSchema> {
        if place.draft >= Draft::Draft2019
            && members.get("$recursiveAnchor") == Some(&Value::Bool(true))
        {
            self.anchors
                .dynamic
                .insert((place.resource, RECURSIVE.to_owned()), id);
        }
        for (keyword, draft) in [
            ("$anchor", Draft::Draft2019),
            ("$dynamicAnchor", Draft::Draft2020),
        ] {
            let Some(name) = members.get(keyword).filter(|_| place.draft >= draft) else {
                continue;
            };
            let name = name.as_str().filter(|name| is_anchor(name));
            let name = name
                .ok_or(InvalidSchema::expected(keyword, "a name"))?
                .to_owned();
            self.anchors
                .fixed
                .insert((place.resource, name.clone()), id);
            if draft == Draft::Draft2020 {
                self.anchors.dynamic.insert((place.resource, name), id);
            }
        }
        Ok(())
    }

    /// A relative reference, in relation to the URI of a resource.
    fn absolute(&self, uri: &str, resource: ResourceId) -> Option<Uri<String>> {
        let base = &self.resources[resource.0 as usize].uri;
        Some(
            UriRef::parse(uri)
                .ok()?
                .resolve_against(base)
                .ok()?
                .normalize(),
        )
    }

    pub(super) fn add_reference(
        &mut self,
        node: NodeId,
        position: usize,
        kind: ReferenceKind,
        target: &'d str,
        place: Place,
    ) {
        let reference = PendingReference {
            node,
            position,
            kind,
            target,
            resource: place.resource,
        };
        self.references.entry(node).or_default().push(reference);
    }

    /// Finds the target of a reference.
    pub(super) fn resolve(
        &mut self,
        reference: &PendingReference<'d>,
    ) -> Result<NodeId, InvalidSchema> {
        let (uri, fragment) = split_fragment(reference.target);
        let resource = self.find_resource(uri, reference)?;
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        let target = self.find_target(resource, &fragment, reference)?;
        let keyword = match reference.kind {
            ReferenceKind::Fixed => Keyword::Reference(target),
            ReferenceKind::Recursive => self.dynamic_reference(resource, RECURSIVE, target),
            ReferenceKind::Dynamic => self.dynamic_reference(resource, &fragment, target),
        };
        self.nodes[reference.node.0 as usize].keywords[reference.position] = keyword;
        Ok(target)
    }

    fn find_resource(
        &self,
        uri: &str,
        reference: &PendingReference<'d>,
    ) -> Result<ResourceId, InvalidSchema> {
        if uri.is_empty() {
            return Ok(reference.resource);
        }
        let absolute = self.absolute(uri, reference.resource);
        let found = self
            .resources
            .iter()
            .position(|resource| Some(&resource.uri) == absolute.as_ref());
        let found =
            found.ok_or_else(|| InvalidSchema::OtherDocument(reference.target.to_owned()))?;
        Ok(ResourceId(found as u32))
    }

    fn find_target(
        &mut self,
        resource: ResourceId,
        fragment: &str,
        reference: &PendingReference<'d>,
    ) -> Result<NodeId, InvalidSchema> {
        let missing = || InvalidSchema::MissingTarget(reference.target.to_owned());
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let anchor = self.anchors.fixed.get(&(resource, fragment.to_owned()));
            return anchor.copied().ok_or_else(missing);
        }
        let mut value = self.resources[resource.0 as usize].root;
        let mut resource = resource;
        for part in fragment.split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            value = child(value, &name).ok_or_else(missing)?;
            if let Some(id) = self.ids.get(&std::ptr::from_ref(value)) {
                resource = self.nodes[id.0 as usize].resource;
            }
        }
        let draft = self.resources[resource.0 as usize].draft;
        self.schema(value, Place::of_root(resource, draft))
    }

    /// A reference to the outermost resource with a dynamic anchor of this name, if its first target has one.
    fn dynamic_reference(&self, resource: ResourceId, name: &str, target: NodeId) -> Keyword {
        let anchors = &self.anchors.dynamic;
        if anchors.get(&(resource, name.to_owned())) != Some(&target) {
            return Keyword::Reference(target);
        }
        let targets: Vec<_> = anchors
            .iter()
            .filter(|((_, other), _)| other == name)
            .map(|((resource, _), target)| (*resource, *target))
            .collect();
        match targets.len() {
            1 => Keyword::Reference(target),
            _ => Keyword::DynamicReference(DynamicReference { target, targets }),
        }
    }
}

fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

fn child<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

fn is_anchor(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_allowed)
}
