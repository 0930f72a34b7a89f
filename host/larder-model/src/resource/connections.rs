//! The TCP connections of a call, for the audit log.

use std::sync::OnceLock;

use parking_lot::Mutex;

/// Maximum number of connections that are recorded for one call.
const MAX_RECORDS: usize = 32;
/// Maximum length of a recorded host in bytes. The host may be a text from a guest.
const MAX_HOST: usize = 255;

/// The connections that guests attempted on behalf of a call. Most calls have no connections. Then this costs nothing.
#[derive(Debug, Default)]
pub struct ConnectionRecords(OnceLock<Mutex<Vec<ConnectionRecord>>>);

/// A connection that a guest attempted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The host and the port, such as `db.internal:5432`, or the name that was looked up.
    pub to: String,
    /// How the attempt ended.
    pub outcome: &'static str,
    /// The number of further attempts of the call, which have no records of their own.
    pub more: u64,
}

impl ConnectionRecords {
    /// Adds an attempt. Attempts beyond the limit are counted in the last record.
    pub fn add(&self, to: &str, outcome: &'static str) {
        let records = self.0.get_or_init(Mutex::default);
        let mut records = records.lock();
        if records.len() < MAX_RECORDS {
            let to = to[..to.floor_char_boundary(MAX_HOST)].to_owned();
            records.push(ConnectionRecord {
                to,
                outcome,
                more: 0,
            });
        } else if let Some(last) = records.last_mut() {
            last.more += 1;
        }
    }

    /// Returns the records.
    pub fn list(&self) -> Vec<ConnectionRecord> {
        let records = self.0.get().map(|records| records.lock().clone());
        records.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_attempts_beyond_the_limit() {
        let records = ConnectionRecords::default();
        assert!(records.list().is_empty());
        (0..MAX_RECORDS + 5).for_each(|n| records.add(&format!("host{n}:1"), "ok"));
        let records = records.list();
        assert_eq!(
            (
                records.len(),
                records[0].more,
                records[MAX_RECORDS - 1].more
            ),
            (MAX_RECORDS, 0, 5)
        );
    }

    #[test]
    fn truncates_long_hosts() {
        let records = ConnectionRecords::default();
        records.add(&"é".repeat(1_000), "denied");
        assert_eq!(records.list()[0].to.len(), MAX_HOST - 1);
    }
}
