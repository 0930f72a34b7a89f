//! Exports functions with optional parameters: equal in interface to the documentation component of another host.

wit_bindgen::generate!({
    inline: r#"
        package guests:library@0.1.0;

        interface context7 {
            record library-result {
                id: string,
                name: string,
                description: string,
                code-snippets: u32,
                trust-score: u32,
                versions: list<string>,
            }
            record search-response { success: bool, results: list<library-result>, error: option<string> }
            record docs-response { success: bool, content: option<string>, error: option<string> }

            resolve-library-id: func(library-name: string) -> search-response;
            get-library-docs: func(
                context7-compatible-library-id: string,
                topic: option<string>,
                tokens: option<u32>,
            ) -> docs-response;
        }

        world library {
            export context7;
        }
    "#,
});

use exports::guests::library::context7::{DocsResponse, Guest, LibraryResult, SearchResponse};

struct Component;

impl Guest for Component {
    fn resolve_library_id(library_name: String) -> SearchResponse {
        let library = LibraryResult {
            id: format!("/libraries/{library_name}"),
            name: library_name,
            description: "A library.".into(),
            code_snippets: 3,
            trust_score: 9,
            versions: vec!["1.0".into()],
        };
        SearchResponse {
            success: true,
            results: vec![library],
            error: None,
        }
    }

    fn get_library_docs(id: String, topic: Option<String>, tokens: Option<u32>) -> DocsResponse {
        DocsResponse {
            success: true,
            content: Some(format!("{id} {topic:?} {tokens:?}")),
            error: None,
        }
    }
}

export!(Component);
