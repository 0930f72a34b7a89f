//! Writes JSON directly into a buffer, in one pass and without an intermediate tree.

use serde_json::value::RawValue;

use super::escape::{PAUSE_INTERVAL, write_escaped, write_text};
use super::output::{Output, WrittenOutput};
use larder_model::resource::Body;
use larder_runtime::low_priority_threads;

/// A JSON object that is being written.
pub(crate) struct Object<'a> {
    out: &'a mut Output,
    first: bool,
}

/// Returns a JSON object in a new buffer.
pub(crate) fn object(fill: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
    let mut out = Output::with_capacity(128);
    write_object(&mut out, fill);
    std::mem::take(&mut *out)
}

/// Appends a JSON object to a buffer.
pub(crate) fn write_object(out: &mut Output, fill: impl FnOnce(&mut Object<'_>)) {
    out.push(b'{');
    fill(&mut Object { out, first: true });
    out.push(b'}');
}

/// Appends a JSON array of objects to a buffer.
pub(crate) fn write_objects<T>(
    out: &mut Output,
    items: impl IntoIterator<Item = T>,
    fill: impl Fn(&mut Object<'_>, T),
) {
    write_array(out, items, |out, item| {
        write_object(out, |object| fill(object, item))
    });
}

fn write_array<T>(
    out: &mut Output,
    items: impl IntoIterator<Item = T>,
    write: impl Fn(&mut Output, T),
) {
    out.push(b'[');
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

impl Object<'_> {
    pub(crate) fn text(&mut self, key: &'static str, value: &str) {
        write_text(self.key(key), value);
    }

    pub(crate) fn optional_text(&mut self, key: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    pub(crate) fn integer(&mut self, key: &'static str, value: u64) {
        let _ = serde_json::to_writer(&mut **self.key(key), &value);
    }

    pub(crate) fn signed(&mut self, key: &'static str, value: i32) {
        self.key(key)
            .extend_from_slice(value.to_string().as_bytes());
    }

    /// Writes a number. NaN and infinity, which JSON cannot represent, are omitted.
    pub(crate) fn number(&mut self, key: &'static str, value: f64) {
        if let Some(number) = serde_json::Number::from_f64(value) {
            self.key(key)
                .extend_from_slice(number.to_string().as_bytes());
        }
    }

    pub(crate) fn flag(&mut self, key: &'static str, value: bool) {
        self.key(key)
            .extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Writes a member from JSON of another source. The key may need escapes.
    pub(crate) fn raw(&mut self, key: &str, value: &RawValue) {
        self.comma();
        write_text(self.out, key);
        self.out.push(b':');
        write_single_line(self.out, value.get());
    }

    /// Writes JSON that this module produced.
    pub(crate) fn json(&mut self, key: &'static str, value: &str) {
        self.key(key).extend_from_slice(value.as_bytes());
    }

    /// Like [`json`](Self::json), for bytes.
    pub(crate) fn json_bytes(&mut self, key: &'static str, value: &[u8]) {
        self.key(key).extend_from_slice(value);
    }

    pub(crate) fn base64(&mut self, key: &'static str, value: &[u8]) {
        let out = self.key(key);
        out.push(b'"');
        append_base64(out, value);
        out.push(b'"');
    }

    /// Writes a body. If the body is encoded when it is sent, leaves a place for it instead.
    pub(crate) fn body(&mut self, key: &'static str, body: &Body) {
        let out = self.key(key);
        match body {
            Body::Text(_) => write_texts(out, [body]),
            Body::Blob(data) => {
                out.push(b'"');
                if !out.leave_place(body) {
                    append_base64(out, data);
                }
                out.push(b'"');
            }
        }
    }

    /// Writes several texts as one text, each on lines of its own.
    pub(crate) fn bodies<'b>(
        &mut self,
        key: &'static str,
        bodies: impl IntoIterator<Item = &'b Body>,
    ) {
        write_texts(self.key(key), bodies);
    }

    /// Writes JSON that was rendered before.
    pub(crate) fn written(&mut self, key: &'static str, json: &WrittenOutput) {
        append_written(self.key(key), json, false, |out, bytes| {
            out.extend_from_slice(bytes)
        });
    }

    /// Writes JSON that was rendered before as a text.
    pub(crate) fn written_as_text(&mut self, key: &'static str, json: &WrittenOutput) {
        let out = self.key(key);
        out.push(b'"');
        append_written(out, json, true, write_escaped);
        out.push(b'"');
    }

    pub(crate) fn object(&mut self, key: &'static str, fill: impl FnOnce(&mut Object<'_>)) {
        write_object(self.key(key), fill);
    }

    pub(crate) fn texts<'t>(
        &mut self,
        key: &'static str,
        values: impl IntoIterator<Item = &'t str>,
    ) {
        self.array(key, values, write_text);
    }

    pub(crate) fn objects<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        fill: impl Fn(&mut Object<'_>, T),
    ) {
        write_objects(self.key(key), items, fill);
    }

    /// Writes an array of values that are JSON already.
    pub(crate) fn json_array<'t>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = &'t [u8]>,
    ) {
        self.array(key, items, |out, item| out.extend_from_slice(item));
    }

    fn array<T>(
        &mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Output, T),
    ) {
        write_array(self.key(key), items, write);
    }

    /// Writes a key. The keys in this code need no escapes, so they are not searched for special characters.
    fn key(&mut self, key: &'static str) -> &mut Output {
        debug_assert!(is_plain(key), "`{key}` would have to be escaped");
        self.out.reserve(key.len() + 4);
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
    }
}

/// Writes several texts as one string, each on lines of its own.
fn write_texts<'b>(out: &mut Output, bodies: impl IntoIterator<Item = &'b Body>) {
    out.push(b'"');
    let texts = bodies.into_iter().filter_map(|body| match body {
        Body::Text(text) => Some((body, text)),
        Body::Blob(_) => None,
    });
    for (n, (body, text)) in texts.enumerate() {
        if n > 0 {
            out.extend_from_slice(br"\n\n");
        }
        if !out.leave_place(body) {
            write_escaped(out, text.as_bytes());
        }
    }
    out.push(b'"');
}

/// Appends JSON that was rendered before, with `write`, and the places in it.
fn append_written(
    out: &mut Output,
    json: &WrittenOutput,
    is_text: bool,
    write: impl Fn(&mut Output, &[u8]),
) {
    let mut rest = &json.bytes[..];
    for place in json.places() {
        let (before, after) = rest.split_at(place.at - (json.bytes.len() - rest.len()));
        write(out, before);
        out.leave_place_again(place, is_text);
        rest = after;
    }
    write(out, rest);
}

fn append_base64(out: &mut Output, value: &[u8]) {
    // Each part but the last one has a multiple of three bytes, so only the end is padded.
    for part in value.chunks(3 * PAUSE_INTERVAL) {
        low_priority_threads::pause();
        base64_simd::STANDARD.encode_append(part, &mut **out);
    }
}

fn is_plain(key: &str) -> bool {
    key.bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

/// Appends JSON on a single line. A line break between tokens would end a message on stdio or a `data:` line of an SSE
/// event. Strings in JSON contain no line breaks.
fn write_single_line(out: &mut Output, json: &str) {
    out.extend(json.bytes().map(|byte| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            byte
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_every_kind_of_member() {
        let raw: Box<RawValue> = serde_json::from_str("{\"a\":\r\n[1]}").unwrap();
        let bytes = object(|o| {
            o.text("t", "line\nbreak");
            o.optional_text("none", None);
            o.integer("i", u64::MAX);
            o.number("n", 0.5);
            o.number("nan", f64::NAN);
            o.flag("f", true);
            o.raw("r\"", &raw);
            o.base64("b", b"\x00\xff\xfe");
            o.object("o", |_| {});
            o.texts("ts", ["x", "y"]);
            o.objects("os", [1, 2], |o, n| o.integer("n", n));
        });
        let expected = r#"{"t":"line\nbreak","i":18446744073709551615,"n":0.5,"f":true,"r\"":{"a":  [1]},"b":"AP/+","o":{},"ts":["x","y"],"os":[{"n":1},{"n":2}]}"#;
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
