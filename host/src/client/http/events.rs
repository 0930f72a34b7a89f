//! Takes a stream of server-sent events apart, however it was cut into chunks.

/// The events of one stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    buffer: Vec<u8>,
    seen: usize,
    data: Option<String>,
}

impl Events {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Bytes that are not an event yet.
    pub(super) fn held(&self) -> usize {
        self.buffer.len() + self.data.as_ref().map_or(0, String::len)
    }

    /// The data of the next complete event. Comments and events without data are passed over.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(line) = self.line() {
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if line.is_empty() {
                match self.data.take() {
                    Some(data) if !data.is_empty() => return Some(data),
                    _ => continue,
                }
            }
            if let Some(data) = line.strip_prefix("data:") {
                let data = data.strip_prefix(' ').unwrap_or(data);
                match &mut self.data {
                    Some(before) => *before = format!("{before}\n{data}"),
                    none => *none = Some(data.to_owned()),
                }
            }
        }
        None
    }

    // Only what is new is searched, so that a long line in small chunks stays cheap.
    fn line(&mut self) -> Option<String> {
        let Some(at) = self.buffer[self.seen..].iter().position(|&byte| byte == b'\n') else {
            self.seen = self.buffer.len();
            return None;
        };
        let end = self.seen + at;
        let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..=end);
        self.seen = 0;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &str, expected: &[&str]) {
        // One chunk, and one byte at a time.
        for size in [stream.len(), 1] {
            let mut events = Events::default();
            let mut found = Vec::new();
            for chunk in stream.as_bytes().chunks(size.max(1)) {
                events.push(chunk);
                found.extend(std::iter::from_fn(|| events.next()));
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn events_are_what_stands_between_empty_lines() {
        check("", &[]);
        check("data: a\n\n", &["a"]);
        check(": hello\r\nevent: message\r\nid: 1\r\ndata:ä\r\n\r\ndata: b\n\n", &["ä", "b"]);
        check("data: {\ndata: }\n\n", &["{\n}"]);
        check("id: 0\ndata:\n\ndata: unfinished\n", &[]);
    }
}
