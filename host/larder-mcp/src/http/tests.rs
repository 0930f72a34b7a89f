use super::*;
use crate::dispatch::Work;

/// A future that takes an argument by value, or awaits another future by value, stores it twice. A few such futures in
/// a row would overflow the stack, and copying them takes time in each request.
#[test]
fn request_futures_are_small() {
    fn of<'e, F>(_: impl Fn(&'e Endpoint, Request<hyper::body::Incoming>) -> F) -> usize {
        size_of::<F>()
    }
    fn of_run<'a, F>(_: impl Fn(&'a mut Work) -> F) -> usize {
        size_of::<F>()
    }
    for (name, size, max) in [
        ("run", of_run(Work::run), 4 << 10),
        ("respond", of(Endpoint::respond), 6_400),
    ] {
        assert!(size <= max, "the future of `{name}` has {size} bytes");
    }
}
