//! A project with a package of npm that expects what browsers and Node have.

use std::fs;

use anyhow::{Result, ensure};

use super::project::{Project, greeting};

/// The package has another file for Node, which cannot be bundled. Its types need those of browsers.
const FILES: [(&str, &str); 4] = [
    (
        "package.json",
        r#"{ "name": "expects-globals", "main": "node.js", "browser": "browser.js", "types": "index.d.ts" }"#,
    ),
    ("node.js", "exports.name = require('fs').name;\n"),
    (
        "browser.js",
        "if (process.env.NODE_ENV !== 'production') throw new Error('not in production');\n\
         console.log('loaded');\n\
         clearTimeout(setTimeout(() => {}, 1000));\n\
         const { searchParams } = new URL('/?name=pack%C3%A4ge', 'https://example.org/x');\n\
         global.expected = new TextDecoder().decode(new TextEncoder().encode(searchParams.get('name')));\n\
         exports.name = globalThis.expected;\n",
    ),
    (
        "index.d.ts",
        "export declare const name: string;\nexport declare const place: URL;\n",
    ),
];

/// Checks that a project can use the package. Its dependencies are installed.
pub(super) fn check(project: &Project<'_>) -> Result<()> {
    let package = project.here.join("node_modules/expects-globals");
    fs::create_dir_all(&package)?;
    for (name, text) in FILES {
        fs::write(package.join(name), text)?;
    }
    let source = project.here.join(project.language.source);
    let text = fs::read_to_string(&source)?.replace("\"world\"", "name");
    let import = "import { name } from \"expects-globals\";\n";
    fs::write(source, format!("{import}{text}"))?;
    project.build()?;
    let text = project.read("hello", ["--plugins", "PLUGINS"])?;
    ensure!(text == greeting("packäge"), "unexpected greeting {text:?}");
    Ok(fs::remove_dir_all(package)?)
}
