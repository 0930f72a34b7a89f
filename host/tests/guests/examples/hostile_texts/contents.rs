//! Contents that attack the program that shows them: Markdown, HTML, SVG, JSON, text and binary data.

use guests::*;

use super::texts::{TEN_MEBIBYTES, huge, json_string, origin, texts};

/// The last segments of the URIs.
pub(crate) const NAMES: [&str; 14] = [
    "markdown",
    "nested-markdown",
    "html",
    "svg",
    "svg-as-png",
    "png",
    "json",
    "deep-json",
    "invalid-json",
    "plain",
    "lines",
    "large",
    "bytes",
    "several",
];

pub(crate) fn read(name: &str) -> Result<Reading, Error> {
    let as_text = |mime_type: &str, text: String| content(Body::Text(text), mime_type);
    let as_bytes = |mime_type: &str, bytes: Vec<u8>| content(Body::Blob(bytes), mime_type);
    reading(vec![match name {
        "markdown" => as_text("text/markdown", markdown()),
        "nested-markdown" => as_text("text/markdown", nested_markdown()),
        "html" => as_text("text/html", html()),
        "svg" => as_text("image/svg+xml", SVG.to_owned()),
        "svg-as-png" => as_bytes("image/png", SVG.as_bytes().to_vec()),
        "png" => as_bytes("image/png", PNG.to_vec()),
        "json" => as_text("application/json", json()),
        "deep-json" => as_text(
            "application/json",
            "[".repeat(100_000) + &"]".repeat(100_000),
        ),
        "invalid-json" => as_text("application/json", format!("{{\"a\": {}", texts().concat())),
        "lines" => as_text("text/plain", "line\n".repeat(200_000)),
        "large" => as_text("text/plain", huge(TEN_MEBIBYTES)),
        "bytes" => as_bytes(
            "application/octet-stream",
            (0..=255).cycle().take(1 << 20).collect(),
        ),
        "several" => return reading((0..200).map(|_| as_text("text/html", html())).collect()),
        _ => as_text("text/plain", texts().concat()),
    }])
}

fn html() -> String {
    format!(
        "<!doctype html><html><body onload=\"parent.attacked='body'\">{}",
        texts().concat()
    )
}

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100000\" height=\"100000\" \
    onload=\"parent.attacked='svg'\"><script>parent.attacked='svg script'</script>\
    <foreignObject><body xmlns=\"http://www.w3.org/1999/xhtml\"><script>top.attacked='foreign'</script></body>\
    </foreignObject></svg>";

/// A picture of one pixel.
const PNG: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\x00\x01\
    \x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0d\x49\x44\x41\x54\x78\xda\x63\xf8\xcf\xc0\xf0\
    \x1f\x00\x05\x00\x01\xff\x56\xc7\x2f\x0d\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82";

fn json() -> String {
    let texts: Vec<_> = texts().iter().map(|text| json_string(text)).collect();
    format!(
        "{{\"__proto__\": {{\"attacked\": true}}, \"constructor\": {{\"prototype\": {{\"attacked\": true}}}}, \
          \"toString\": 1, \"texts\": [{}], {}: 1e400}}",
        texts.join(", "),
        texts[0]
    )
}

fn markdown() -> String {
    let attacks = texts().join("\n\n");
    let links = LINKS.replace("ORIGIN", &origin());
    format!(
        "# {}\n\n{links}\n\n{attacks}\n\n- {attacks}\n\n> {attacks}\n",
        texts()[0]
    )
}

const LINKS: &str = "\
[script](javascript:window.attacked='markdown')
[upper](JaVaScRiPt:window.attacked='upper')
[entity](javascript&colon;window.attacked='entity')
[tab](java\tscript:window.attacked='tab')
[newline](<java&#10;script:window.attacked='newline'>)
[data](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuYXR0YWNrZWQ9MTwvc2NyaXB0Pg==)
[vbscript](vbscript:msgbox(1)) [blob](blob:null/x) [relative](../../api/logout) [frame](//evil.example/)
<javascript:window.attacked='autolink'>
![picture](ORIGIN/picture.png) ![inline](data:image/svg+xml,%3Csvg%20onload=alert(1)%3E)
![\" onerror=\"window.attacked='alt'](x \"\\\" onerror=window.attacked='title' x=\")
[reference]: javascript:window.attacked='reference 1'
[reference] [a](ORIGIN/link \"title\" )
<a href=\"javascript:window.attacked='html'\" onclick=\"window.attacked='click'\" ping=\"ORIGIN/ping\">html</a>

| a | <script>window.attacked='table'</script> |
|---|---|
| <img src=x onerror=window.attacked='cell'> | `<script>window.attacked='code'</script>` |

```html\"><script>window.attacked='fence'</script>
</code></pre><script>window.attacked='block'</script>
```
";

/// Markdown for which a simple parser needs quadratic time, or a deep stack.
fn nested_markdown() -> String {
    [
        "> ", "* ", "[", "*a_ ", "![", "`", "<a ", "\\", "| ", "((", "1. ",
    ]
    .map(|part| part.repeat(20_000))
    .join("\n\n")
}
