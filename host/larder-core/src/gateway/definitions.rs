//! The lists of tools and prompts. The catalog holds all of them, and they are the same for each caller of a team.

use std::sync::Arc;
use std::time::Duration;

use super::audit_record::written;
use super::cursor::{Cursor, ListKind, Position};
use super::view::View;
use super::{Error, Gateway};
use crate::catalog::{Offer, OfferedPrompt, OfferedTool};
use larder_model::resource::{Call, Freshness, Page};

/// A tool or a prompt in a list.
trait Named {
    fn name(&self) -> &str;
}

impl Named for OfferedTool {
    fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl Named for OfferedPrompt {
    fn name(&self) -> &str {
        &self.name
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
        let view = self.view(call.caller.as_ref());
        let result = self.definitions(cursor, ListKind::Tools, &view, view.tools());
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
        let view = self.view(call.caller.as_ref());
        let result = self.definitions(cursor, ListKind::Prompts, &view, view.prompts());
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    fn definitions<'a, T: Named + 'a>(
        &self,
        cursor: Option<&str>,
        kind: ListKind,
        view: &View,
        all: impl Iterator<Item = (&'a Arc<Offer>, &'a Arc<T>)>,
    ) -> Result<Page<Arc<T>>, Error> {
        let from = cursor.map(|text| Cursor::decode(text, kind).ok_or(Error::BadCursor)).transpose()?;
        let rank = |offer: &Offer| view.team_rank(offer.provider.team());
        let start = match &from {
            None => None,
            Some(Cursor { team, provider, position: Position::After(name), .. }) => {
                let team = view.team_rank_of(team).ok_or(Error::BadCursor)?;
                Some((Some(team), provider.as_str(), name.as_str()))
            }
            Some(_) => return Err(Error::BadCursor),
        };
        let is_after = |(offer, item): &(&Arc<Offer>, &Arc<T>)| {
            start.is_none_or(|start| (rank(offer), offer.name().as_str(), item.name()) > start)
        };
        let size = match self.page_size().resources {
            0 => usize::MAX,
            size => size as usize,
        };
        let mut rest = all.filter(is_after);
        let (mut items, mut last) = (Vec::new(), None);
        for (offer, item) in rest.by_ref().take(size) {
            items.push(item.clone());
            last = Some((offer, item));
        }
        let has_more = rest.next().is_some();
        let next = last
            .filter(|_| has_more)
            .map(|(offer, item)| Cursor::new(kind, offer, Position::After(item.name().to_owned())).encode());
        // An approval can change the list at any moment; clients are notified of it.
        let freshness = Freshness { ttl: Duration::ZERO, ..self.max_freshness() };
        Ok(Page { items, next, freshness, incomplete: Vec::new() })
    }
}
