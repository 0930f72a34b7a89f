//! The fuzz target of this crate. It exists only in tests and with the feature `fuzzing`.

use serde_json::Value;

use super::{Effort, JsonSchema, SchemaError};

/// Three eighths of the stack of a server thread. The deepest validation needs 480 KiB in a debug build.
const STACK: usize = 768 << 10;
/// The maximum effort.
const UNITS: u64 = 100_000;
/// Inputs have few regular expressions.
const PATTERN_SIZE: usize = 64 << 10;

/// Runs on a thread with a small stack. An overflow ends the process.
pub fn with_small_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, run);
        let outcome = thread.map(std::thread::ScopedJoinHandle::join);
        outcome
            .expect("a thread is started")
            .unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

/// Compiles a schema and validates a value. The input is the schema and the value, each on a line of its own.
pub fn json_schema(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (schema, value) = text.split_once('\n').unwrap_or((text, "null"));
    let (Ok(schema), Ok(value)) = (serde_json::from_str(schema), serde_json::from_str(value))
    else {
        return;
    };
    with_small_stack(|| check(&schema, &value));
}

fn check(schema: &Value, value: &Value) {
    let Ok(compiled) = JsonSchema::compile(schema, PATTERN_SIZE) else {
        return;
    };
    let mut checks = 0;
    let mut never_stops = || {
        checks += 1;
        false
    };
    let outcome = compiled.validate(value, &mut Effort::with_check(UNITS, &mut never_stops));
    assert!(checks <= 1 + UNITS / 4_096 + 1, "{checks} checks: {schema}");
    if outcome != Err(SchemaError::TooMuchEffort) {
        let again = compiled.validate(value, &mut Effort::new(10 * UNITS));
        assert_eq!(
            again, outcome,
            "more effort does not change the outcome: {schema}"
        );
    }
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_json_schema() {
        replay::replay("json_schema", json_schema);
    }
}
