//! The lists of tools, prompts and skills. The catalog holds all of them, and they are the same for each caller of a team.

use std::sync::Arc;
use std::time::Duration;

use super::audit_record::written;
use super::cursor::{Cursor, ListKind, Position};
use super::view::View;
use super::{Error, Gateway, MAX_PAGE_BYTES};
use crate::catalog::{Offer, OfferedPrompt, OfferedTool, ResourceTool};
use larder_model::resource::{Call, Freshness, Page};
use larder_model::tool::Tool;
use larder_skills::Skill;

/// The size of a definition without its long parts.
const BASE_SIZE: usize = 256;

/// A tool, a prompt or a skill in a list.
trait Definition {
    fn name(&self) -> &str;
    /// The approximate size of its definition in bytes.
    fn size(&self) -> usize;
}

impl Definition for OfferedTool {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn size(&self) -> usize {
        let Tool {
            description,
            input_schema,
            output_schema,
            ..
        } = &self.tool;
        let output = output_schema
            .as_deref()
            .map_or(0, |schema| schema.get().len());
        BASE_SIZE + input_schema.get().len() + output + description.as_deref().map_or(0, str::len)
    }
}

impl Definition for OfferedPrompt {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> usize {
        let text = |text: &Option<String>| text.as_deref().map_or(0, str::len);
        let arguments = self
            .prompt
            .arguments
            .iter()
            .map(|argument| BASE_SIZE + text(&argument.description));
        BASE_SIZE + text(&self.prompt.description) + arguments.sum::<usize>()
    }
}

impl Definition for Skill {
    fn name(&self) -> &str {
        self.uri().as_str()
    }

    fn size(&self) -> usize {
        self.manifest_size()
    }
}

/// The items of one page.
struct FilledPage<'a, T> {
    items: Vec<Arc<T>>,
    last: Option<(&'a Arc<Offer>, &'a Arc<T>)>,
    has_more: bool,
}

impl<'a, T: Definition + 'a> FilledPage<'a, T> {
    /// Takes items as long as they fit. The first item always fits, so that each page makes progress.
    fn new(items: impl Iterator<Item = (&'a Arc<Offer>, &'a Arc<T>)>, size: usize) -> Self {
        let mut rest = items.peekable();
        let mut items = Vec::new();
        let mut last = None;
        let mut bytes = 0;
        while let Some((offer, item)) = rest.next_if(|(_, item)| {
            items.is_empty() || items.len() < size && bytes + item.size() <= MAX_PAGE_BYTES
        }) {
            bytes += item.size();
            items.push(item.clone());
            last = Some((offer, item));
        }
        Self {
            items,
            last,
            has_more: rest.peek().is_some(),
        }
    }

    /// The cursor of the next page, if there is one.
    fn next_cursor(&self, kind: ListKind) -> Option<String> {
        let (offer, item) = self.last.filter(|_| self.has_more)?;
        let position = Position::After(item.name().to_owned());
        Some(Cursor::new(kind, offer, position).encode())
    }
}

impl Gateway {
    /// Returns a page of the tools.
    pub async fn tools(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
    ) -> Result<Page<Arc<OfferedTool>>, Error> {
        let record = self.begin_record("list-tools", call, None).await?;
        let view = self.view(call);
        let mut result = self.definitions(cursor, ListKind::Tools, &view, view.tools());
        if let (Ok(page), None, true) = (&mut result, cursor, view.has_resource_tools()) {
            // The first page also contains the server's own tools, in addition to its normal size. So a cursor never
            // has to name these tools.
            page.items
                .splice(..0, ResourceTool::all_offered().iter().cloned());
        }
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    /// Returns a page of the prompts.
    pub async fn prompts(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
    ) -> Result<Page<Arc<OfferedPrompt>>, Error> {
        let record = self.begin_record("list-prompts", call, None).await?;
        let view = self.view(call);
        let result = self.definitions(cursor, ListKind::Prompts, &view, view.prompts());
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    /// Returns a page of the skills.
    pub async fn skills(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
    ) -> Result<Page<Arc<Skill>>, Error> {
        let record = self.begin_record("list-skills", call, None).await?;
        let view = self.view(call);
        Self::refresh_stale_lists(&view);
        let result = self.definitions(cursor, ListKind::Skills, &view, view.skills());
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    /// An approval or a new snapshot can change a list at any moment; clients are notified of it.
    pub(super) fn definitions_freshness(&self) -> Freshness {
        Freshness {
            ttl: Duration::ZERO,
            ..self.max_freshness()
        }
    }

    fn definitions<'a, T: Definition + 'a>(
        &self,
        cursor: Option<&str>,
        kind: ListKind,
        view: &View,
        all: impl Iterator<Item = (&'a Arc<Offer>, &'a Arc<T>)>,
    ) -> Result<Page<Arc<T>>, Error> {
        let from = cursor
            .map(|text| Cursor::decode(text, kind).ok_or(Error::BadCursor))
            .transpose()?;
        let rank = |offer: &Offer| view.team_rank(offer.team());
        let start = match &from {
            None => None,
            Some(Cursor {
                team,
                provider,
                position: Position::After(name),
                ..
            }) => {
                let team = view.team_rank_of(team).ok_or(Error::BadCursor)?;
                Some((Some(team), provider.as_str(), name.as_str()))
            }
            Some(_) => return Err(Error::BadCursor),
        };
        let is_after = |(offer, item): &(&Arc<Offer>, &Arc<T>)| {
            start.is_none_or(|start| (rank(offer), offer.name().as_str(), item.name()) > start)
        };
        let page = FilledPage::new(all.filter(is_after), self.max_items());
        Ok(Page {
            next: page.next_cursor(kind),
            items: page.items,
            freshness: self.definitions_freshness(),
            incomplete: Vec::new(),
        })
    }
}
