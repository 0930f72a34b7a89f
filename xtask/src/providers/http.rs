//! The web server of the test of `http`.

use std::path::Path;

use anyhow::Result;

use super::{Surroundings, web};
use crate::run::Output;
use crate::step::Outcome;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "http", prepare)
}

pub(super) fn prepare(_: &Output, folder: &Path) -> Result<Surroundings> {
    web::serve("http", folder)
}
