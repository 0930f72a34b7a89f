//! The web server of the test of `openapi`.

use std::path::Path;

use anyhow::Result;

use super::{Surroundings, web};
use crate::run::Output;
use crate::step::Outcome;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "openapi", prepare)
}

pub(super) fn prepare(_: &Output, folder: &Path) -> Result<Surroundings> {
    web::serve("openapi", folder)
}
