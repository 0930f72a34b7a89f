//! Lists of prompts, their messages and their arguments.

use expect_test::expect;
use larder_model::input::{Answer, ProvidedInput};
use larder_model::prompt::{ArgumentQuery, Prompt, PromptRequest};
use larder_provider::{CallError, Provider as _};

use super::{interactive, page, permit, shown};

#[tokio::test]
async fn lists_and_gets_prompts() {
    let loaded = interactive().await;
    let prompts = loaded.provider.all_prompts().await;
    let name = |prompt: &Prompt| {
        let arguments = prompt
            .arguments
            .iter()
            .map(|it| format!("{}={}", it.name, it.required));
        format!(
            "{}({})",
            prompt.name,
            arguments.collect::<Vec<_>>().join(",")
        )
    };
    expect![[r#"
        greet(name=true,tone=false) interview() next None
    "#]]
    .assert_eq(&page(prompts, name));
    let Answer::Complete(result) = loaded.prompt("greet", &[("name", "Ann")]).await.unwrap() else {
        panic!("it requires input")
    };
    assert_eq!(result.description.as_deref(), Some("A greeting"));
    let messages = result
        .messages
        .iter()
        .map(|it| format!("{:?}: {}", it.role, shown(&it.content)));
    assert_eq!(
        messages.collect::<Vec<_>>(),
        ["User: text Greet Ann.", "Assistant: text Hello."]
    );
    assert_eq!(
        loaded.prompt("greet", &[]).await.unwrap_err(),
        CallError::Invalid("`name` is missing".into())
    );
    assert_eq!(
        loaded.prompt("unknown", &[]).await.unwrap_err(),
        CallError::NotFound
    );
}

#[tokio::test]
async fn a_prompt_asks_for_input() {
    let loaded = interactive().await;
    let Answer::InputRequired(required) = loaded.prompt("interview", &[]).await.unwrap() else {
        panic!("it requires no input")
    };
    let methods: Vec<_> = required
        .requests
        .iter()
        .map(|request| request.method.as_str())
        .collect();
    assert_eq!(
        (methods, required.state),
        (vec!["roots/list", "sampling/createMessage"], None)
    );
    let input = Some(ProvidedInput::default());
    let again = PromptRequest {
        name: "interview".into(),
        input,
        ..PromptRequest::default()
    };
    let error = loaded
        .provider
        .get_prompt(permit(), again)
        .await
        .unwrap_err();
    assert_eq!(error, CallError::Failed("0 answers".into()));
}

#[tokio::test]
async fn completes_an_argument() {
    let loaded = interactive().await;
    let query = |argument: &str| ArgumentQuery {
        prompt: "greet".into(),
        argument: argument.into(),
        prefix: "an".into(),
        filled: vec![("other".into(), "ann".into())],
    };
    let completion = loaded
        .provider
        .complete_argument(permit(), query("name"))
        .await
        .unwrap();
    assert_eq!(
        (completion.values, completion.total, completion.has_more),
        (vec!["anton".into()], Some(3), false)
    );
    let error = loaded
        .provider
        .complete_argument(permit(), query("tone"))
        .await
        .unwrap_err();
    assert_eq!(error, CallError::NotFound);
}
