//! Exports a function that returns a text of any size: the same text as the tool of `sized_tool`.

wit_bindgen::generate!({
    inline: r#"
        package guests:sized;

        world sized {
            export sized-document: func(bytes: u32) -> string;
        }
    "#,
});

/// A line with characters that JSON must escape.
const LINE: &str = "A line of a document, \"quoted\", that is sixty-four bytes long. \n";

struct Component;

impl Guest for Component {
    fn sized_document(bytes: u32) -> String {
        let bytes = bytes as usize;
        let mut text = LINE.repeat(bytes / LINE.len() + 1);
        text.truncate(bytes);
        text
    }
}

export!(Component);
