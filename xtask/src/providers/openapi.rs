//! The web server of the test of `openapi`.

use anyhow::Result;

use super::web;
use crate::run::Output;
use crate::step::Outcome;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "openapi", |_, folder| web::serve("openapi", folder))
}
