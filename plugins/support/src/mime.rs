//! Media types: by file name for common document and source files, and by content for all other files.

use larder_provider::Content;

/// The number of bytes at the beginning of a file from which [`from_content`] finds the type.
pub const HEAD: usize = 512;

/// The media type of a file whose name does not determine it, according to the beginning of its content.
pub fn from_content(head: &[u8]) -> &'static str {
    match infer::get(head) {
        Some(found) => found.mime_type(),
        None if is_text(head) => "text/plain",
        None => "application/octet-stream",
    }
}

/// Whether the beginning of a content is text: UTF-8 without NUL. Its last character may be incomplete.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    valid && !head.contains(&0)
}

/// A text content if the bytes are UTF-8 and the media type is not binary, so that for example images are never
/// returned as text.
pub fn content(name: &str, bytes: Vec<u8>) -> Content {
    let head = &bytes[..bytes.len().min(HEAD)];
    let mime = from_name(name).unwrap_or_else(|| from_content(head));
    if is_binary(mime) || bytes.contains(&0) {
        return Content::blob(bytes).mime(mime);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Content::text(text).mime(mime),
        Err(error) => Content::blob(error.into_bytes()).mime(mime),
    }
}

/// A content as text, in which invalid characters are replaced. `None` if the name or the bytes show that the content
/// is binary.
pub fn text(name: &str, bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let mime = from_name(name).unwrap_or_else(|| from_content(head));
    let is_text = !is_binary(mime) && !bytes.contains(&0);
    is_text.then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// The media type for a file name.
pub fn from_name(name: &str) -> Option<&'static str> {
    let Some((_, extension)) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) else {
        return from_full_name(name);
    };
    from_extension(&extension.to_ascii_lowercase())
}

/// Whether contents of this type are always returned as bytes, even if they are valid UTF-8.
pub fn is_binary(mime: &str) -> bool {
    let text = [
        "application/json",
        "application/toml",
        "application/yaml",
        "application/xml",
        "application/sql",
    ];
    let binary = ["image/", "audio/", "video/", "font/", "application/"];
    !mime.ends_with("+xml")
        && !text.contains(&mime)
        && binary.iter().any(|family| mime.starts_with(family))
}

fn from_full_name(name: &str) -> Option<&'static str> {
    let plain = [
        "README",
        "LICENSE",
        "NOTICE",
        "AUTHORS",
        "CHANGELOG",
        "Makefile",
        "Dockerfile",
        "CODEOWNERS",
    ];
    plain.contains(&name).then_some("text/plain")
}

fn from_extension(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "txt" | "log" | "cfg" | "conf" | "ini" | "env" | "lock" | "diff" | "patch" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "adoc" => "text/asciidoc",
        "rst" => "text/x-rst",
        "tex" => "text/x-tex",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "ics" => "text/calendar",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" | "tsx" | "mts" => "text/x-typescript",
        "rs" => "text/x-rust",
        "py" => "text/x-python",
        "go" => "text/x-go",
        "c" | "h" => "text/x-c",
        "cc" | "cpp" | "hpp" => "text/x-c++",
        "java" => "text/x-java",
        "rb" => "text/x-ruby",
        "sh" | "bash" => "text/x-shellscript",
        "wit" | "proto" | "zig" | "swift" | "kt" | "lua" | "php" | "cs" => "text/plain",
        "sql" => "application/sql",
        "json" | "map" => "application/json",
        "toml" => "application/toml",
        "yaml" | "yml" => "application/yaml",
        "xml" | "xsd" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/vnd.microsoft.icon",
        "mp3" => "audio/mpeg",
        "ogg" => "audio/ogg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "tar" => "application/x-tar",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "odt" => "application/vnd.oasis.opendocument.text",
        "ods" => "application/vnd.oasis.opendocument.spreadsheet",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_the_type_from_the_name() {
        let check = |name: &str, expected: Option<(&str, bool)>| {
            assert_eq!(
                from_name(name).map(|mime| (mime, is_binary(mime))),
                expected,
                "{name}"
            );
        };
        check("a.b.MD", Some(("text/markdown", false)));
        check("LICENSE", Some(("text/plain", false)));
        check("x.json", Some(("application/json", false)));
        check("x.svg", Some(("image/svg+xml", false)));
        check("x.png", Some(("image/png", true)));
        check("x.pdf", Some(("application/pdf", true)));
        check(".png", None);
        check("noidea.xyz", None);
        check("noidea", None);
    }

    #[test]
    fn guesses_the_type_from_the_content() {
        let check =
            |head: &[u8], expected: &str| assert_eq!(from_content(head), expected, "{head:?}");
        check(b"\x89PNG\r\n\x1a\n", "image/png");
        check(b"%PDF-1.7", "application/pdf");
        check(b"hello", "text/plain");
        check(
            "hello \u{fc}".as_bytes().split_last().unwrap().1,
            "text/plain",
        );
        check(b"", "text/plain");
        check(b"a\0b", "application/octet-stream");
        check(b"\xff\xfea", "application/octet-stream");
    }
}
