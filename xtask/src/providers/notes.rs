//! The folder of the test of `notes`.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Surroundings;
use crate::run::Output;
use crate::step::Outcome;

const INDEX: &str = "---\ntitle: Start\ndescription: where to begin\npriority: 0.9\n---\n\n# Index\n\n\
                     [the plan](garden/plan.md), [[Roses]], [lost](lost.md)\n";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "notes", prepare)
}

/// Creates notes, including a hidden and a large note, and a folder with many notes.
pub(super) fn prepare(_: &Output, folder: &Path) -> Result<Surroundings> {
    fs::create_dir_all(folder.join("garden"))?;
    fs::create_dir_all(folder.join("many"))?;
    let plan = "# Plan\n\nAn #idea.\n\n## Spring\n\nPlant roses.\n\n## Autumn\n\nRest.\n";
    let large = "long\n".repeat(20_000);
    let notes = [
        ("index", INDEX),
        ("garden/plan", plan),
        ("garden/roses", "Red ones. Back to [[index]].\n"),
        (".hidden", "# Hidden\n"),
        ("large", &large),
    ];
    for (path, text) in notes {
        fs::write(folder.join(format!("{path}.md")), text)?;
    }
    for number in 0..250 {
        fs::write(
            folder.join(format!("many/{number:04}.md")),
            format!("---\nnumber: {number}\n---\n\n# Note {number}\n"),
        )?;
    }
    Ok(Surroundings::default())
}
