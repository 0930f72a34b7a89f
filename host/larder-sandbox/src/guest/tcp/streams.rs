//! The two directions of a connection, with a limit for the bytes of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::p2::pipe::{ClosedInputStream, ClosedOutputStream};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use crate::guest::log::{Log, LogLevel};
use crate::guest_config::GuestConfig;
use larder_model::size;
use larder_runtime::metrics::ProviderMetrics;

/// The bytes that a call may still send and receive.
pub(crate) struct ByteBudget {
    left: AtomicU64,
    limit: u64,
    is_logged: AtomicBool,
    log: Log,
    metrics: Arc<ProviderMetrics>,
}

impl ByteBudget {
    pub(super) fn new(config: &GuestConfig, log: &Log) -> Self {
        let limit = config.grant.limits.tcp_bytes;
        Self {
            left: AtomicU64::new(limit),
            limit,
            is_logged: AtomicBool::new(false),
            log: log.clone(),
            metrics: config.metrics.clone(),
        }
    }

    /// Starts again for another call.
    pub(super) fn reset(&self, limit: u64) {
        self.left.store(limit, Relaxed);
        self.is_logged.store(false, Relaxed);
    }

    /// Returns how many of these bytes may be sent or received. Fails if no bytes are left.
    fn allowed(&self, wanted: usize) -> StreamResult<usize> {
        let left = usize::try_from(self.left.load(Relaxed)).unwrap_or(usize::MAX);
        if left > 0 || wanted == 0 {
            return Ok(wanted.min(left));
        }
        Err(self.exhausted())
    }

    fn exhausted(&self) -> StreamError {
        let limit = size::show(self.limit);
        let why = format!(
            "the call sent and received {limit} over TCP, which is the limit (`limits.tcp_bytes`)"
        );
        if !self.is_logged.swap(true, Relaxed) {
            self.log.line(LogLevel::Info, &why);
        }
        StreamError::LastOperationFailed(wasmtime::Error::msg(why))
    }

    fn take(&self, bytes: usize) {
        let less = |left: u64| Some(left.saturating_sub(bytes as u64));
        _ = self.left.fetch_update(Relaxed, Relaxed, less);
    }
}

/// Limits the streams of a new connection.
pub(crate) fn limit_streams(
    table: &mut ResourceTable,
    input: &Resource<DynInputStream>,
    output: &Resource<DynOutputStream>,
    budget: &Arc<ByteBudget>,
) -> wasmtime::Result<()> {
    let input = table.get_mut(input)?;
    let inner = std::mem::replace(input, Box::new(ClosedInputStream));
    *input = Box::new(MeteredInputStream {
        inner,
        budget: budget.clone(),
    });
    let output = table.get_mut(output)?;
    let inner = std::mem::replace(output, Box::new(ClosedOutputStream));
    *output = Box::new(MeteredOutputStream {
        inner,
        budget: budget.clone(),
    });
    Ok(())
}

struct MeteredInputStream {
    inner: DynInputStream,
    budget: Arc<ByteBudget>,
}

#[async_trait::async_trait]
impl InputStream for MeteredInputStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let bytes = self.inner.read(self.budget.allowed(size)?)?;
        self.budget.take(bytes.len());
        self.budget.metrics.tcp_received.inc_by(bytes.len() as u64);
        Ok(bytes)
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait::async_trait]
impl Pollable for MeteredInputStream {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}

struct MeteredOutputStream {
    inner: DynOutputStream,
    budget: Arc<ByteBudget>,
}

#[async_trait::async_trait]
impl OutputStream for MeteredOutputStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let size = bytes.len();
        if self.budget.allowed(size)? < size {
            return Err(self.budget.exhausted());
        }
        self.inner.write(bytes)?;
        self.budget.take(size);
        self.budget.metrics.tcp_sent.inc_by(size as u64);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    /// The guest must not write more bytes than this.
    fn check_write(&mut self) -> StreamResult<usize> {
        match self.inner.check_write()? {
            0 => Ok(0),
            allowed => self.budget.allowed(allowed),
        }
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait::async_trait]
impl Pollable for MeteredOutputStream {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}
