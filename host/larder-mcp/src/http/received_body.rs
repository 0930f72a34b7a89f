//! Receives the bodies of requests. A large body is charged to its caller as it arrives, and until its request is
//! answered. Only received bytes are charged: the length that a client announces is not charged.

use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::RequestBody;
use crate::outgoing::waiting_bytes::{FREE_BYTES, WaitingBytes};
use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};
use larder_model::resource::Caller;
use larder_model::size;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge};

/// A complete body. If it is large, it is charged.
pub(super) struct ReceivedBody {
    bytes: Bytes,
    _charge: Option<Box<MemoryCharge>>,
}

/// Why a body was not received.
#[derive(Debug)]
pub(super) enum BodyError {
    /// The body ended early.
    Ended,
    /// The body is larger than the limit.
    TooLarge,
    /// There is no memory for the body.
    NoMemory(ChargeError),
}

/// A body that is received in several pieces.
struct GrowingBody<'a> {
    bytes: Vec<u8>,
    charge: Option<Box<MemoryCharge>>,
    /// The announced length.
    length: usize,
    memory: (&'a WaitingBytes, &'a Caller),
}

impl ReceivedBody {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Receives a body of at most `limit` bytes. Most bodies arrive in one piece, which is returned without a copy.
pub(super) async fn receive(
    body: impl RequestBody,
    limit: usize,
    length: Option<u64>,
    memory: (&WaitingBytes, &Caller),
) -> Result<ReceivedBody, BodyError> {
    let mut body = pin!(Limited::new(body, limit));
    let first = next(body.as_mut()).await?.unwrap_or_default();
    if body.is_end_stream() && first.len() <= FREE_BYTES {
        return Ok(ReceivedBody {
            bytes: first,
            _charge: None,
        });
    }
    let length = length
        .and_then(|length| usize::try_from(length).ok())
        .unwrap_or(usize::MAX);
    let mut growing = GrowingBody {
        bytes: Vec::new(),
        charge: None,
        length,
        memory,
    };
    growing.add(&first)?;
    while let Some(more) = next(body.as_mut()).await? {
        growing.add(&more)?;
    }
    Ok(ReceivedBody {
        bytes: growing.bytes.into(),
        _charge: growing.charge,
    })
}

async fn next(body: Pin<&mut Limited<impl RequestBody>>) -> Result<Option<Bytes>, BodyError> {
    let mut body = body;
    match body.frame().await {
        None => Ok(None),
        Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
        Some(Err(error)) if error.is::<LengthLimitError>() => Err(BodyError::TooLarge),
        Some(Err(_)) => Err(BodyError::Ended),
    }
}

impl GrowingBody<'_> {
    fn add(&mut self, piece: &[u8]) -> Result<(), BodyError> {
        let needed = self.bytes.len() + piece.len();
        if needed > self.bytes.capacity() {
            let capacity = needed.max((2 * self.bytes.capacity()).min(self.length));
            self.charge(capacity).map_err(BodyError::NoMemory)?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn charge(&mut self, capacity: usize) -> Result<(), ChargeError> {
        let (budget, caller) = self.memory;
        match &mut self.charge {
            Some(charge) => charge.grow(
                Some(caller),
                (capacity as u64).saturating_sub(charge.bytes()),
            ),
            None if capacity <= FREE_BYTES => Ok(()),
            None => {
                self.charge = Some(Box::new(budget.charge_request(caller, capacity)?));
                Ok(())
            }
        }
    }
}

/// How long the rest of the body of a refused request is received.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

/// How many bytes of the rest are received.
const DISCARD_LIMIT: usize = 64 << 20;

/// Receives and drops the rest of a body whose request was refused before the end of the body. If the connection were
/// closed while bytes arrive, it would be reset, and the client would lose the response.
pub(super) async fn discard(body: impl RequestBody) {
    let mut body = pin!(Limited::new(body, DISCARD_LIMIT));
    let rest = async { while let Some(Ok(_)) = body.frame().await {} };
    // The connection is closed if the rest takes longer.
    _ = tokio::time::timeout(DISCARD_TIMEOUT, rest).await;
}

/// The error for a request without memory.
pub(super) fn no_memory(refused: ChargeError) -> RpcError {
    match refused {
        ChargeError::Full => {
            RpcError::overloaded("the server has no memory for a large request at the moment")
        }
        ChargeError::AboveLimit(limit) => {
            let why = format!(
                "the body needs more than {}, which one client can use: the operator can raise `server.memory`",
                size::show(limit)
            );
            RpcError::new(INVALID_REQUEST, why).with_status(StatusCode::PAYLOAD_TOO_LARGE)
        }
    }
}
