//! Takes a stream of server-sent events apart, however it was cut into chunks.

use std::time::Duration;

/// The longest that a server can make a client wait before it comes back.
const LONGEST: Duration = Duration::from_secs(30);

/// The events of one stream.
#[derive(Debug, Default)]
pub(super) struct Events {
    buffer: Vec<u8>,
    seen: usize,
    data: Option<String>,
    name: Option<String>,
    last: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Bytes that are not an event yet.
    pub(super) fn held(&self) -> usize {
        self.buffer.len() + self.data.as_ref().map_or(0, String::len)
    }

    /// The name of the last event that had one, to go on from there.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// How long the server wants its clients to wait before they come back.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Forgets half an event; what was learnt from whole ones stays.
    pub(super) fn begin_anew(&mut self) {
        *self = Self { last: self.last.take(), retry: self.retry, ..Self::default() };
    }

    /// The data of the next complete event. Comments and events without data are passed over.
    pub(super) fn next(&mut self) -> Option<String> {
        while let Some(line) = self.line() {
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if !line.is_empty() {
                self.field(line);
                continue;
            }
            if let Some(name) = self.name.take() {
                self.last = Some(name);
            }
            if let Some(data) = self.data.take().filter(|data| !data.is_empty()) {
                return Some(data);
            }
        }
        None
    }

    fn field(&mut self, line: &str) {
        let Some((field, value)) = line.split_once(':') else { return };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", Some(before)) => *before = format!("{before}\n{value}"),
            ("data", none) => *none = Some(value.to_owned()),
            ("id", _) if !value.contains('\0') => self.name = Some(value.to_owned()),
            ("retry", _) => {
                let wanted = value.parse().map(Duration::from_millis);
                self.retry = wanted.map(|wanted| wanted.min(LONGEST)).ok().or(self.retry);
            }
            _ => {}
        }
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

    #[test]
    fn the_last_name_is_that_of_a_whole_event() {
        let mut events = Events::default();
        let last = |events: &mut Events, stream: &str| {
            events.push(stream.as_bytes());
            while events.next().is_some() {}
            events.last().map(ToOwned::to_owned)
        };
        assert_eq!(last(&mut events, "data: a\n\n"), None);
        assert_eq!(last(&mut events, "id: 1\nretry: 250\ndata:\n\n").as_deref(), Some("1"));
        assert_eq!(last(&mut events, "data: b\n\nid: 2\ndata: c\n").as_deref(), Some("1"));
        assert_eq!(last(&mut events, "\n").as_deref(), Some("2"));
        assert_eq!(events.retry(), Some(Duration::from_millis(250)));
        last(&mut events, "retry: x\n\nretry: 99999999\n\n");
        assert_eq!(events.retry(), Some(LONGEST));
    }
}
