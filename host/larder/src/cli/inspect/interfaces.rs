//! Formats tools, prompts, search and settings for a terminal.

use super::render::Page;
use crate::app::{Interfaces, Prompt, Setting, Tool};

impl Page {
    pub(super) fn interfaces(&mut self, interfaces: &Interfaces) {
        let Interfaces {
            tools,
            prompts,
            search,
            settings,
            interface_problems,
        } = interfaces;
        self.group(
            tools
                .as_deref()
                .map(|tools| ("tool", tools.iter().map(tool).collect())),
        );
        self.group(
            prompts
                .as_deref()
                .map(|prompts| ("prompt", prompts.iter().map(prompt).collect())),
        );
        if *search {
            self.head("search");
        }
        self.group(
            settings
                .as_deref()
                .map(|settings| ("setting", settings.iter().map(setting).collect())),
        );
        if !interface_problems.is_empty() {
            self.head("problems");
            self.items(interface_problems, false);
        }
    }

    fn group(&mut self, group: Option<(&str, Vec<String>)>) {
        if let Some((noun, lines)) = group {
            self.head(&format!(
                "{} {noun}{}",
                lines.len(),
                if lines.len() == 1 { "" } else { "s" }
            ));
            self.items(&lines, false);
        }
    }
}

fn tool(tool: &Tool) -> String {
    let hints = &tool.hints;
    let notes = [
        (hints.read_only, "read-only"),
        (hints.destructive, "destructive"),
        (hints.idempotent, "idempotent"),
        (hints.open_world, "open-world"),
        (hints.long_running, "long-running"),
    ];
    let notes = notes
        .into_iter()
        .filter_map(|(hint, note)| (hint == Some(true)).then_some(note));
    line(
        &tool.name,
        &notes.collect::<Vec<_>>(),
        tool.description.as_deref().or(tool.title.as_deref()),
    )
}

fn prompt(prompt: &Prompt) -> String {
    let arguments = prompt.arguments.iter();
    let arguments =
        arguments.map(|it| format!("{}{}", it.name, if it.required { "" } else { "?" }));
    let name = format!(
        "{} {}",
        prompt.name,
        arguments.collect::<Vec<_>>().join(" ")
    );
    line(
        name.trim_end(),
        &[],
        prompt.description.as_deref().or(prompt.title.as_deref()),
    )
}

fn setting(setting: &Setting) -> String {
    let default = setting
        .default
        .as_ref()
        .map(|default| format!("default {default:?}"));
    let notes = [
        Some(setting.kind),
        setting.required.then_some("required"),
        setting.secret.then_some("secret"),
        default.as_deref(),
    ];
    let notes: Vec<_> = notes.into_iter().flatten().collect();
    line(&setting.name, &notes, Some(&setting.description))
}

fn line(name: &str, notes: &[&str], text: Option<&str>) -> String {
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    let text = text
        .filter(|text| !text.is_empty())
        .map(|text| format!(": {text}"));
    format!("{name}{notes}{}", text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::value::RawValue;

    use super::*;
    use crate::app::{Argument, Hints};

    fn schema() -> Box<RawValue> {
        RawValue::from_string("{}".into()).unwrap()
    }

    #[test]
    fn shows_interfaces() {
        let hints = Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: None,
            long_running: None,
        };
        let tool = Tool {
            name: "compare".into(),
            title: Some("Compare".into()),
            description: None,
            input_schema: schema(),
            output_schema: None,
            hints,
        };
        let argument = |name: &str, required| Argument {
            name: name.into(),
            title: None,
            description: None,
            required,
        };
        let prompt = Prompt {
            name: "greet".into(),
            title: None,
            description: Some("Greets\x1b[2J.".into()),
            arguments: vec![argument("name", true), argument("tone", false)],
        };
        let setting = Setting {
            name: "file".into(),
            kind: "text",
            description: "A file.".into(),
            default: Some("a.md".into()),
            required: false,
            secret: true,
        };
        let interfaces = Interfaces {
            tools: Some(vec![tool]),
            prompts: Some(vec![prompt]),
            search: true,
            settings: Some(vec![setting]),
            interface_problems: vec!["tools: omitted or changed: a second tool `x`".into()],
        };
        let mut page = Page::new(false);
        page.interfaces(&interfaces);
        page.interfaces(&Interfaces {
            tools: Some(vec![]),
            ..Interfaces::default()
        });
        expect![[r#"
            1 tool
              compare (read-only, idempotent): Compare
            1 prompt
              greet name tone?: Greets\u001b[2J.
            search
            1 setting
              file (text, secret, default "a.md"): A file.
            problems
              tools: omitted or changed: a second tool `x`
            0 tools
        "#]]
        .assert_eq(&page.text);
    }
}
