//! The paths `/api/resources`, `/api/templates`, `/api/tools` and `/api/prompts`: the items of the catalog, as MCP
//! clients see them, with the name of the provider.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::component_view::full_name;
use super::query::{ApiQuery, lower};
use super::response::{ApiError, Page, PageQuery};
use crate::response::json;
use crate::{Admin, CatalogJson};
use larder_core::catalog::{Catalog, Offer};
use larder_model::name::TeamName;

/// Maximum bytes of a text in a list. Longer texts are truncated, unless an item cannot be used without the text.
const MAX_TEXT: usize = 4 << 10;
/// The keys of texts that are never truncated.
const WHOLE: [&str; 4] = ["uri", "uriTemplate", "inputSchema", "outputSchema"];

/// Conditions on the items of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CatalogQuery {
    /// Text in the name, title, description or URI, case-insensitive.
    q: Option<String>,
    provider: Option<String>,
    team: Option<String>,
    #[serde(flatten)]
    page: PageQuery,
}

/// An item: the fields that MCP clients see, and the origin of the item.
#[derive(Debug, Serialize)]
struct Item {
    #[serde(flatten)]
    fields: Map<String, Value>,
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    #[serde(skip)]
    key: String,
}

/// Visits one of the lists of an offer.
type VisitItems = fn(&Offer, CatalogJson, ItemVisitor<'_>);

/// Called for each item, with the identifier, the searchable texts and the JSON of the item.
type ItemVisitor<'a> = &'a mut dyn FnMut(&str, &[&str], &dyn Fn() -> Vec<u8>);

pub(super) async fn resources(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<CatalogQuery>,
) -> Result<Response, ApiError> {
    admin.list(query, visit_entries).await
}

fn visit_entries(offer: &Offer, render: CatalogJson, visit: ItemVisitor<'_>) {
    for entry in &offer.entries {
        let title = text(&entry.title);
        let description = text(&entry.description);
        let searched = [entry.uri.as_str(), &entry.name, title, description];
        visit(entry.uri.as_str(), &searched, &|| {
            (render.entry)(entry).to_vec()
        });
    }
}

pub(super) async fn templates(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<CatalogQuery>,
) -> Result<Response, ApiError> {
    admin.list(query, visit_templates).await
}

fn visit_templates(offer: &Offer, render: CatalogJson, visit: ItemVisitor<'_>) {
    for template in &offer.templates {
        let uri_template = template.uri_template.as_str();
        let title = text(&template.title);
        let description = text(&template.description);
        let searched = [uri_template, &template.name, title, description];
        visit(uri_template, &searched, &|| {
            (render.template)(template).to_vec()
        });
    }
}

pub(super) async fn tools(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<CatalogQuery>,
) -> Result<Response, ApiError> {
    admin.list(query, visit_tools).await
}

fn visit_tools(offer: &Offer, render: CatalogJson, visit: ItemVisitor<'_>) {
    for offered in &offer.definitions.tools {
        let title = text(&offered.tool.title);
        let description = text(&offered.tool.description);
        let searched = [offered.name.as_str(), title, description];
        visit(offered.name.as_str(), &searched, &|| {
            (render.tool)(offered).to_vec()
        });
    }
}

pub(super) async fn prompts(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<CatalogQuery>,
) -> Result<Response, ApiError> {
    admin.list(query, visit_prompts).await
}

fn visit_prompts(offer: &Offer, render: CatalogJson, visit: ItemVisitor<'_>) {
    for offered in &offer.definitions.prompts {
        let title = text(&offered.prompt.title);
        let description = text(&offered.prompt.description);
        let searched = [offered.name.as_str(), title, description];
        visit(&offered.name, &searched, &|| {
            (render.prompt)(offered).to_vec()
        });
    }
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

impl Admin {
    /// Returns a part of a list. A catalog can be large, so this does not block the thread of other requests.
    async fn list(&self, query: CatalogQuery, visit: VisitItems) -> Result<Response, ApiError> {
        let catalogs = self.catalogs();
        let render = self.0.sources.catalog_json;
        let list = self.0.drain.spawn_blocking(move || {
            let page = list_page(&catalogs, &query, render, visit)?;
            Ok(json(StatusCode::OK, &page))
        });
        list.await.map_err(ApiError::failed)?
    }

    fn catalogs(&self) -> Vec<(TeamName, Arc<Catalog>)> {
        let teams = self.0.sources.teams.borrow();
        teams
            .iter()
            .map(|team| (team.catalog.team().clone(), team.catalog.snapshot()))
            .collect()
    }
}

fn list_page(
    catalogs: &[(TeamName, Arc<Catalog>)],
    query: &CatalogQuery,
    render: CatalogJson,
    visit: VisitItems,
) -> Result<Page<Item>, ApiError> {
    let limit = query.page.limit()?;
    let after = query.page.cursor();
    let needle = lower(query.q.as_ref());
    let mut found = Vec::new();
    let mut has_more = false;
    for (team, offer) in offers(catalogs, query) {
        visit(offer, render, &mut |id, searched, item_json| {
            if has_more || !has_text(searched, &needle) {
                return;
            }
            let key = format!("{team}\0{}\0{id}", offer.name());
            let is_after = after.is_none_or(|after| key.as_str() > after);
            match (is_after, found.len() < limit) {
                (true, true) => found.extend(Item::new(key, team, offer, &item_json())),
                (true, false) => has_more = true,
                (false, _) => {}
            }
        });
        if has_more {
            break;
        }
    }
    let next = found
        .last()
        .filter(|_| has_more)
        .map(|item| item.key.clone());
    Ok(Page { items: found, next })
}

/// Returns the offers that match the query, in the order of the list.
fn offers<'a>(
    catalogs: &'a [(TeamName, Arc<Catalog>)],
    query: &'a CatalogQuery,
) -> impl Iterator<Item = (&'a TeamName, &'a Arc<Offer>)> {
    let wanted = query.team.as_ref().filter(|wanted| !wanted.is_empty());
    let fits_team = move |team: &TeamName| wanted.is_none_or(|wanted| wanted == team.as_str());
    let wanted = query.provider.as_ref().filter(|wanted| !wanted.is_empty());
    let fits = move |(team, offer): &(&TeamName, &Arc<Offer>)| {
        wanted.is_none_or(|wanted| full_name(team, offer.name().as_str()) == *wanted)
    };
    let teams = catalogs.iter().filter(move |(team, _)| fits_team(team));
    teams
        .flat_map(|(team, catalog)| catalog.offers().iter().map(move |offer| (team, offer)))
        .filter(fits)
}

fn has_text(searched: &[&str], needle: &str) -> bool {
    needle.is_empty()
        || searched
            .iter()
            .any(|text| text.to_lowercase().contains(needle))
}

impl Item {
    /// None if the JSON is not an object. The JSON is always an object.
    fn new(key: String, team: &TeamName, offer: &Offer, json: &[u8]) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_slice(json).ok()?;
        fields
            .iter_mut()
            .filter(|(key, _)| !WHOLE.contains(&key.as_str()))
            .for_each(|(_, value)| truncate(value));
        let provider = full_name(team, offer.name().as_str());
        Some(Self {
            fields,
            provider,
            team: team.non_default().map(ToOwned::to_owned),
            key,
        })
    }
}

fn truncate(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => truncate_text(text),
        Value::Array(items) => items.iter_mut().for_each(truncate),
        Value::Object(fields) => fields.values_mut().for_each(truncate),
        _ => {}
    }
}

fn truncate_text(text: &mut String) {
    text.truncate(text.floor_char_boundary(MAX_TEXT - '…'.len_utf8()));
    text.push('…');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn truncates_long_texts_between_characters() {
        let mut value =
            json!({ "a": ["ä".repeat(MAX_TEXT), "short"], "b": { "c": "x".repeat(MAX_TEXT) } });
        truncate(&mut value);
        let text = value["a"][0].as_str().unwrap();
        assert!(
            text.len() <= MAX_TEXT && text.ends_with("ä…"),
            "{}",
            text.len()
        );
        assert_eq!(
            (&value["a"][1], value["b"]["c"].as_str().unwrap().len()),
            (&json!("short"), MAX_TEXT)
        );
    }
}
