use super::super::dispatch::Peer;
use super::super::method;
use super::*;

/// A future that awaits another future by value holds it twice. A few such futures in a row would overflow
/// the stack.
#[test]
fn request_futures_are_small() {
    fn of<'e, F>(_: impl Fn(&'e Endpoint, Request<hyper::body::Incoming>) -> F) -> usize {
        size_of::<F>()
    }
    fn of_dispatch<F>(
        _: impl Fn(Endpoint, Id, method::Operation, Arc<larder_model::resource::Call>, Peer) -> F,
    ) -> usize {
        size_of::<F>()
    }
    for (name, size, max) in
        [("dispatch", of_dispatch(Endpoint::dispatch), 8 << 10), ("respond", of(Endpoint::respond), 16 << 10)]
    {
        assert!(size <= max, "the future of `{name}` has {size} bytes");
    }
}
