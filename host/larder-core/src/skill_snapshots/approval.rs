//! Which skills and pages of a provider are offered. In the mode `Ask`, each is pinned by the digest of its content when
//! it is first offered. A new or changed one waits for an approval, and its last approved snapshot is offered until then.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::restore::{MissingContent, SnapshotReader};
use crate::catalog::{Offer, PendingApproval, WithheldContent};
use crate::reconcile::{Approvals, ApprovalsError, PinCheck, PinDecision, PinKind, Pins};
use larder_model::name::Digest;
use larder_model::uri::Uri;
use larder_runtime::drain::Drain;
use larder_skills::{NotASkill, ProviderSkills, SkillFile, SkillProblem};

/// Files above this size are shown to operators as digests.
const MAX_SHOWN_BYTES: u64 = 64 << 10;

/// Decides which skills and pages are approved.
#[derive(Debug, Clone)]
pub(super) struct ContentApprovals {
    pub(super) approvals: Approvals,
    pub(super) drain: Drain,
}

/// What is not approved of the skills and pages of a provider.
#[derive(Debug, Default)]
pub(super) struct ContentDecision {
    skills: PinDecision,
    pages: PinDecision,
}

impl ContentApprovals {
    /// Decides about the content of a provider, and pins what is approved.
    pub(super) async fn decide(
        &self,
        offer: &Offer,
        built: &ProviderSkills,
    ) -> Result<ContentDecision, String> {
        let approvals = self.approvals.clone();
        let team = offer.team().clone();
        let provider = offer.name().clone();
        let component = offer.provider.digest();
        let skills = offer.grant().skills.then(|| skill_pins(built));
        let pages = (!built.pages().is_empty()).then(|| page_pins(built));
        let decide = move || {
            let of_kind = |kind, pins: Option<Pins>| {
                let check = PinCheck {
                    approvals: &approvals,
                    kind,
                    team: &team,
                    provider: &provider,
                    component,
                };
                let decision = pins.map(|pins| check.decide(&pins, |_| false));
                decision.transpose().map(Option::unwrap_or_default)
            };
            Ok(ContentDecision {
                skills: of_kind(PinKind::Skill, skills)?,
                pages: of_kind(PinKind::Page, pages)?,
            })
        };
        self.run_blocking(decide).await
    }

    /// Returns what was published, with the approved content of what was not published since the start of the server.
    pub(super) async fn restore(
        &self,
        offer: &Offer,
        built: &Arc<ProviderSkills>,
        decision: &ContentDecision,
        published: &Arc<ProviderSkills>,
    ) -> Result<Arc<ProviderSkills>, String> {
        let missing = decision.missing(built, published);
        if missing.is_empty() {
            return Ok(published.clone());
        }
        let reader = SnapshotReader {
            approvals: self.approvals.clone(),
            team: offer.team().clone(),
            built: built.clone(),
            known: (**published).clone(),
        };
        let known = self.run_blocking(move || Ok(reader.read(missing))).await?;
        Ok(Arc::new(known))
    }

    /// Stores what is offered, for the next start of the server. A failure is logged: it does not affect what is offered
    /// now.
    pub(super) async fn store(&self, offer: &Offer, offered: &Arc<ProviderSkills>) {
        let approvals = self.approvals.clone();
        let team = offer.team().clone();
        let offered = offered.clone();
        let store = move || {
            for skill in offered.skills() {
                approvals.store_snapshot(&team, skill.digest(), &skill.files)?;
            }
            for page in offered.pages() {
                approvals.store_snapshot(&team, page.digest, std::slice::from_ref(page))?;
            }
            Ok(())
        };
        if let Err(error) = self.run_blocking(store).await {
            tracing::error!(
                provider = %offer.name(),
                error,
                "cannot store approved skills and pages: after a restart, changed ones are not offered"
            );
        }
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApprovalsError> + Send + 'static,
    ) -> Result<T, String> {
        let result = self.drain.spawn_blocking(work).await;
        let result = result.map_err(|error| error.to_string())?;
        result.map_err(|error| error.to_string())
    }
}

impl ContentDecision {
    /// Returns what is offered: approved skills and pages, and the last approved snapshots of the others.
    pub(super) fn offered(
        &self,
        built: &ProviderSkills,
        published: &ProviderSkills,
    ) -> ProviderSkills {
        let mut offered = ProviderSkills::default();
        let held = self.held_skills(built);
        for skill in built.skills() {
            let is_held = held.contains(skill.uri());
            let snapshot = if is_held {
                published.skill(skill.uri())
            } else {
                Some(skill)
            };
            if let Some(snapshot) = snapshot {
                offered.add(snapshot.clone());
            }
        }
        for page in built.pages() {
            let is_approved = self.pages.is_approved(page.uri.as_str());
            let snapshot = if is_approved {
                Some(page)
            } else {
                published.page(&page.uri)
            };
            if let Some(snapshot) = snapshot {
                offered.add_page(snapshot.clone());
            }
        }
        offered.set_unlisted(built.unlisted().to_vec());
        for problem in built.problems() {
            offered.add_problem(problem.clone());
        }
        self.add_rejected(built, &mut offered);
        offered
    }

    /// The skills and pages that are pinned, not approved as they are now, and not published.
    fn missing(&self, built: &ProviderSkills, published: &ProviderSkills) -> Vec<MissingContent> {
        let held = self.held_skills(built);
        let skills = built.skills().iter();
        let skills = skills
            .filter(|skill| held.contains(skill.uri()) && published.skill(skill.uri()).is_none());
        let skills = skills.filter_map(|skill| {
            let uri = skill.uri().clone();
            let is_approved = self.skills.is_approved(uri.as_str());
            let pin = match self.skills.changed.get(uri.as_str()) {
                Some(pin) => digest_of_pin(pin)?,
                None if is_approved => skill.digest(),
                None => return None,
            };
            Some(MissingContent {
                uri,
                is_page: false,
                pin,
            })
        });
        let pages = built.pages().iter();
        let pages = pages.filter(|page| published.page(&page.uri).is_none());
        let pages = pages.filter_map(|page| {
            let pin = self.pages.changed.get(page.uri.as_str())?;
            Some(MissingContent {
                uri: page.uri.clone(),
                is_page: true,
                pin: digest_of_pin(pin)?,
            })
        });
        skills.chain(pages).collect()
    }

    /// The skills that are not approved, and those that share a file with one of them: a file has one content only.
    fn held_skills<'a>(&self, built: &'a ProviderSkills) -> BTreeSet<&'a Uri> {
        let mut held = BTreeSet::new();
        let mut files = HashSet::new();
        loop {
            let count = held.len();
            for skill in built.skills() {
                let is_approved = self.skills.is_approved(skill.uri().as_str());
                if !is_approved || skill.files.iter().any(|file| files.contains(&file.uri)) {
                    held.insert(skill.uri());
                    files.extend(skill.files.iter().map(|file| &file.uri));
                }
            }
            if held.len() == count {
                return held;
            }
        }
    }

    fn add_rejected(&self, built: &ProviderSkills, offered: &mut ProviderSkills) {
        let skills = built.skills().iter().map(|skill| (skill.uri(), false));
        let pages = built.pages().iter().map(|page| (&page.uri, true));
        for (uri, is_page) in skills.chain(pages) {
            let decision = if is_page { &self.pages } else { &self.skills };
            if decision.rejected.contains(uri.as_str()) {
                offered.add_problem(SkillProblem {
                    uri: uri.clone(),
                    is_page,
                    reason: NotASkill::Rejected,
                });
            }
        }
    }

    /// Returns the request for an operator, if something waits.
    pub(super) fn request(
        &self,
        offer: &Offer,
        built: &ProviderSkills,
        published: &ProviderSkills,
    ) -> Option<PendingApproval> {
        let lines = self.waiting_lines();
        if lines.is_empty() {
            return None;
        }
        let skills = built.skills().iter();
        let skills = skills.filter(|skill| self.skills.waiting.contains_key(skill.uri().as_str()));
        let skills = skills.map(|skill| WithheldContent {
            name: format!("skill {}", skill.uri()),
            before: published.skill(skill.uri()).map(|old| shown(&old.files)),
            after: shown(&skill.files),
        });
        let pages = built.pages().iter();
        let pages = pages.filter(|page| self.pages.waiting.contains_key(page.uri.as_str()));
        let pages = pages.map(|page| WithheldContent {
            name: format!("page {}", page.uri),
            before: published.page(&page.uri).map(|old| shown([old])),
            after: shown([page]),
        });
        let team = offer.team().clone();
        let request =
            PendingApproval::new(team, offer.name().clone(), offer.provider.digest(), lines);
        Some(PendingApproval {
            contents: skills.chain(pages).collect(),
            ..request
        })
    }

    fn waiting_lines(&self) -> BTreeSet<String> {
        let skills = self.skills.waiting.values();
        skills.chain(self.pages.waiting.values()).cloned().collect()
    }
}

/// A pin has the digits of a digest.
fn digest_of_pin(pin: &str) -> Option<Digest> {
    Digest::parse(&format!("sha256:{pin}")).ok()
}

fn skill_pins(built: &ProviderSkills) -> Pins {
    let skills = built.skills().iter();
    skills
        .map(|skill| (skill.uri().to_string(), skill.digest().to_string()))
        .collect()
}

fn page_pins(built: &ProviderSkills) -> Pins {
    let pages = built.pages().iter();
    pages
        .map(|page| (page.uri.to_string(), page.digest.to_string()))
        .collect()
}

/// Writes files as a JSON object with their texts, as operators see them.
fn shown<'a>(files: impl IntoIterator<Item = &'a Arc<SkillFile>>) -> String {
    let text = |file: &SkillFile| {
        let text = file.text().filter(|_| file.size <= MAX_SHOWN_BYTES);
        text.map_or_else(
            || format!("{} bytes with the digest {}", file.size, file.digest),
            ToOwned::to_owned,
        )
    };
    let files: BTreeMap<&str, String> = files
        .into_iter()
        .map(|file| (file.uri.as_str(), text(file)))
        .collect();
    serde_json::to_value(files)
        .unwrap_or(Value::Null)
        .to_string()
}
