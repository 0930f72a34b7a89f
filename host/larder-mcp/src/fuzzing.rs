//! The fuzz targets of this crate. They exist only in tests and with the feature `fuzzing`.

mod http_head;
mod json_rpc;

pub use http_head::http_head;
pub use json_rpc::json_rpc;

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_json_rpc() {
        replay::replay("json_rpc", json_rpc);
    }

    #[test]
    fn replays_the_corpus_of_http_head() {
        replay::replay("http_head", http_head);
    }
}
