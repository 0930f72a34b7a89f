//! The web server of the test of `http`.

use anyhow::Result;

use super::web;
use crate::run::Output;
use crate::step::Outcome;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "http", |_, folder| web::serve("http", folder))
}
