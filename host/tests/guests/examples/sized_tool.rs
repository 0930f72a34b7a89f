//! The tool `document`, which returns a text of any size. The texts are the same as in the guest `sized`.

use larder_provider::serde_json::{Value, json};
use larder_provider::{Call, Error, Provider, Reading, Request, Result, Tool, Tools};

struct SizedTool;

/// A line with characters that JSON must escape.
const LINE: &str = "A line of a document, \"quoted\", that is sixty-four bytes long. \n";

impl Provider for SizedTool {
    fn new() -> Result<Self> {
        Ok(Self)
    }

    fn read(&self, _request: &Request) -> Result<Reading> {
        Err(Error::NotFound)
    }

    fn tools(&self) -> Result<Tools<Self>> {
        let schema = || {
            json!({
                "type": "object",
                "properties": { "bytes": { "type": "integer", "minimum": 0, "maximum": 1 << 24 } },
                "required": ["bytes"],
                "additionalProperties": false,
            })
        };
        let tool = Tool::new("document", Self::document)
            .input_schema(schema)
            .read_only(true);
        Ok(Tools::new().tool(tool.description("Returns a text with so many bytes.")))
    }
}

impl SizedTool {
    fn document(&self, call: &Call<Value>) -> Result<String> {
        let bytes = call.arguments["bytes"]
            .as_u64()
            .and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Error::NotFound)?;
        let mut text = LINE.repeat(bytes / LINE.len() + 1);
        text.truncate(bytes);
        Ok(text)
    }
}

larder_provider::export!(SizedTool: tools);
