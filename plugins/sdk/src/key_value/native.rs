//! The values of a thread, outside of a host. All buckets are allowed, and there are no limits.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Failure, KeyPage, Kind};

type Values = BTreeMap<(bool, String), Vec<u8>>;

thread_local! {
    static VALUES: RefCell<Values> = const { RefCell::new(BTreeMap::new()) };
}

fn with_values<T>(
    bucket: Kind,
    key: &str,
    work: impl FnOnce(&mut Values, (bool, String)) -> T,
) -> T {
    let key = (matches!(bucket, Kind::Caller), key.to_owned());
    VALUES.with_borrow_mut(|values| work(values, key))
}

pub(super) fn get(bucket: Kind, key: &str) -> Result<Option<Vec<u8>>, Failure> {
    Ok(with_values(bucket, key, |values, key| {
        values.get(&key).cloned()
    }))
}

pub(super) fn set(bucket: Kind, key: &str, value: &[u8]) -> Result<(), Failure> {
    with_values(bucket, key, |values, key| {
        values.insert(key, value.to_vec())
    });
    Ok(())
}

pub(super) fn delete(bucket: Kind, key: &str) -> Result<(), Failure> {
    with_values(bucket, key, |values, key| values.remove(&key));
    Ok(())
}

pub(super) fn compare_and_swap(
    bucket: Kind,
    key: &str,
    expected: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<bool, Failure> {
    let is_expected = get(bucket, key)?.as_deref() == expected;
    match (is_expected, value) {
        (true, Some(value)) => set(bucket, key, value)?,
        (true, None) => delete(bucket, key)?,
        (false, _) => {}
    }
    Ok(is_expected)
}

pub(super) fn list_keys(
    bucket: Kind,
    prefix: &str,
    cursor: Option<&str>,
    limit: u32,
) -> Result<KeyPage, Failure> {
    let of_caller = matches!(bucket, Kind::Caller);
    let is_wanted =
        |key: &String| key.starts_with(prefix) && cursor.is_none_or(|cursor| key.as_str() > cursor);
    let mut keys: Vec<String> = VALUES.with_borrow(|values| {
        let keys = values
            .keys()
            .filter(|(owner, _)| *owner == of_caller)
            .map(|(_, key)| key);
        keys.filter(|key| is_wanted(key)).cloned().collect()
    });
    let has_more = keys.len() > limit as usize;
    keys.truncate(limit as usize);
    let next_cursor = keys.last().filter(|_| has_more).cloned();
    Ok(KeyPage { keys, next_cursor })
}
