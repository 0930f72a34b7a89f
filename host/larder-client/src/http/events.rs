//! Parses a stream of server-sent events that arrives in chunks of any size.

use std::time::Duration;

/// The upper bound for the retry delay that a server sends.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// The parser of one stream.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that contain no line break.
    searched: usize,
    data: Option<String>,
    /// The id of the incomplete event.
    id: Option<String>,
    last_event_id: Option<String>,
    retry_delay: Option<Duration>,
}

impl SseParser {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the size of the incomplete event.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffer
            .len()
            .saturating_add(self.data.as_ref().map_or(0, String::len))
    }

    /// Returns the last id of a complete event. The stream can be resumed after this event.
    pub(super) fn last_event_id(&self) -> Option<&str> {
        self.last_event_id.as_deref()
    }

    /// Returns how long the server wants clients to wait before they reconnect.
    pub(super) fn retry_delay(&self) -> Option<Duration> {
        self.retry_delay
    }

    /// Discards an incomplete event, and keeps the last event id and the retry delay.
    pub(super) fn reset(&mut self) {
        *self = Self {
            last_event_id: self.last_event_id.take(),
            retry_delay: self.retry_delay,
            ..Self::default()
        };
    }

    /// Returns the data of the next complete event. Skips comments and events without data.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(line) = self.line() {
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if !line.is_empty() {
                self.field(line);
                continue;
            }
            if let Some(id) = self.id.take() {
                self.last_event_id = Some(id);
            }
            if let Some(data) = self.data.take().filter(|data| !data.is_empty()) {
                return Some(data);
            }
        }
        None
    }

    fn field(&mut self, line: &str) {
        let Some((field, value)) = line.split_once(':') else {
            return;
        };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.add_data(value),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.set_retry_delay(value),
            _ => {}
        }
    }

    fn add_data(&mut self, value: &str) {
        match &mut self.data {
            Some(before) => *before = format!("{before}\n{value}"),
            none => *none = Some(value.to_owned()),
        }
    }

    fn set_retry_delay(&mut self, value: &str) {
        if let Ok(milliseconds) = value.parse() {
            let delay = Duration::from_millis(milliseconds);
            self.retry_delay = Some(delay.min(MAX_RETRY_DELAY));
        }
    }

    // Searches only new bytes, so that a long line in small chunks takes linear time.
    fn line(&mut self) -> Option<String> {
        let Some(at) = self.buffer[self.searched..]
            .iter()
            .position(|&byte| byte == b'\n')
        else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched.saturating_add(at);
        let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..=end);
        self.searched = 0;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &str, expected: &[&str]) {
        // The stream arrives as one chunk, and one byte at a time.
        for size in [stream.len(), 1] {
            let mut parser = SseParser::default();
            let mut found = Vec::new();
            for chunk in stream.as_bytes().chunks(size.max(1)) {
                parser.push(chunk);
                found.extend(std::iter::from_fn(|| parser.next()));
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn empty_lines_separate_events() {
        check("", &[]);
        check("data: a\n\n", &["a"]);
        check(
            ": hello\r\nevent: message\r\nid: 1\r\ndata:ä\r\n\r\ndata: b\n\n",
            &["ä", "b"],
        );
        check("data: {\ndata: }\n\n", &["{\n}"]);
        check("id: 0\ndata:\n\ndata: unfinished\n", &[]);
    }

    #[test]
    fn last_event_id_comes_from_a_complete_event() {
        let mut parser = SseParser::default();
        let last = |parser: &mut SseParser, stream: &str| {
            parser.push(stream.as_bytes());
            while parser.next().is_some() {}
            parser.last_event_id().map(ToOwned::to_owned)
        };
        assert_eq!(last(&mut parser, "data: a\n\n"), None);
        assert_eq!(
            last(&mut parser, "id: 1\nretry: 250\ndata:\n\n").as_deref(),
            Some("1")
        );
        assert_eq!(
            last(&mut parser, "data: b\n\nid: 2\ndata: c\n").as_deref(),
            Some("1")
        );
        assert_eq!(last(&mut parser, "\n").as_deref(), Some("2"));
        assert_eq!(parser.retry_delay(), Some(Duration::from_millis(250)));
        last(&mut parser, "retry: x\n\nretry: 99999999\n\n");
        assert_eq!(parser.retry_delay(), Some(MAX_RETRY_DELAY));
    }
}
