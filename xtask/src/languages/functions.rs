//! A component of plain functions in JavaScript, which gets its settings from `wasi:config`.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::project::Project;
use super::shell;
use crate::run::{command, larder};

const FILES: [(&str, &str); 4] = [
    (
        "functions/wit/world.wit",
        include_str!("../../trials/functions/wit/world.wit"),
    ),
    (
        "functions/wit/deps/config/store.wit",
        include_str!("../../trials/functions/wit/deps/config/store.wit"),
    ),
    (
        "functions/tools.js",
        include_str!("../../trials/functions/tools.js"),
    ),
    // The compiler adds an export `init`.
    (
        "functions/larder.toml",
        "[provider.tools]\ntools = ['greet', 'count-words']\nsettings = { greeting = 'Servus' }\n",
    ),
];

const COMPONENTIZE: &str = "node_modules/.bin/componentize-qjs --wit functions/wit --js functions/tools.js \
                            --world tools --sync --output functions/core.wasm";
const PACK: &str =
    "larder pack functions/core.wasm --docs functions/wit -o functions/plugins/tools.wasm";

/// Builds the component with the tools of a project, and calls its functions.
pub(super) fn check(project: &Project<'_>) -> Result<()> {
    for (name, text) in FILES {
        let path = project.here.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&project.here))?;
        fs::write(path, text)?;
    }
    fs::create_dir_all(project.here.join("functions/plugins"))?;
    for line in [COMPONENTIZE, PACK] {
        shell::run(project.output, &project.here, line)?;
    }
    let greeted = call(project, "greet", "name=Ada")?;
    ensure!(greeted["content"][0]["text"] == "Servus, Ada!", "{greeted}");
    let refused = call(project, "greet", "name=")?;
    ensure!(refused["isError"] == true, "{refused}");
    let counted = call(project, "count-words", "text=a b a")?;
    let expected = json!([{ "word": "a", "times": 2 }, { "word": "b", "times": 1 }]);
    let text = counted["content"][0]["text"].as_str().unwrap_or_default();
    let found: Value = serde_json::from_str(text)?;
    ensure!(found == expected, "{counted}");
    Ok(())
}

/// Calls a tool, and returns its result.
fn call(project: &Project<'_>, tool: &str, argument: &str) -> Result<Value> {
    let mut call = command(larder());
    call.args(["call", tool, "--arg", argument, "--json"])
        .args(["--plugins", "functions/plugins"])
        .args(["--config", "functions/larder.toml"])
        .current_dir(&project.here);
    let called = call.output()?;
    ensure!(
        !called.stdout.is_empty(),
        "larder call: {}",
        String::from_utf8_lossy(&called.stderr)
    );
    Ok(serde_json::from_slice(&called.stdout)?)
}
