//! stdio: one message a line. Requests run at the same time, and nothing but messages is written.

mod lines;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use self::lines::{Line, Lines};
use super::Endpoint;
use super::answer::{Peer, error};
use super::dialect::{Carried, Ear};
use super::era::{Era, Legacy, claims, classify};
use super::flight::{Flight, Flights};
use super::json::array;
use super::listen::{Filter, Listening, notification};
use super::message::{self, Incoming, Message, Request};
use super::method::{self, Asking, Method};
use super::progress::{Exchange, Said};
use super::refusal::{INTERNAL, PARSE, REQUEST, Refusal};
use crate::catalog::Change;

/// Requests that run at the same time; others wait.
const AT_ONCE: usize = 64;
/// Requests that run or wait; more are refused.
const MOST: usize = 1024;
/// What is ready and not yet written.
const WAITING: usize = 16;
/// How long requests under way may take after the last line.
const GRACE: Duration = Duration::from_secs(1);

/// A message on its way out. What was cancelled meanwhile is not written.
struct Sent {
    bytes: Vec<u8>,
    flight: Option<Arc<Flight>>,
}

/// The one client. With it goes what runs for it.
struct Client {
    endpoint: Endpoint,
    version: Option<Legacy>,
    ear: Option<Arc<Ear>>,
    flights: Arc<Flights>,
    running: Arc<Semaphore>,
    /// Changes that were told or are on their way.
    changes: u64,
    gone: CancellationToken,
}

impl Endpoint {
    /// Serves one client until its input ends or the house closes.
    pub async fn serve_stdio<R, W>(&self, input: R, mut output: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut lines = Lines::new(BufReader::new(input), self.0.config.body_limit);
        let mut client = Client::new(self.clone());
        let (sender, mut sent) = mpsc::channel(WAITING);
        let mut sender = Some(sender);
        let mut carried = None;
        let mut grace = pin!(None::<tokio::time::Sleep>);
        loop {
            let open = sender.is_some();
            tokio::select! {
                line = lines.next(), if open => match line? {
                    Line::End => {
                        sender = None;
                        client.gone.cancel();
                        grace.set(Some(tokio::time::sleep(GRACE)));
                    }
                    line => client.take(line, sender.as_ref(), &mut output).await?,
                },
                next = sent.recv() => match next {
                    Some(next) => write(&mut output, next).await?,
                    None => return Ok(()),
                },
                changes = changes(&client), if open => client.tell(changes, &mut carried, &mut output).await?,
                bytes = next(&mut carried), if open => write(&mut output, Sent { bytes, flight: None }).await?,
                () = self.0.drain.stopping(), if open => sender = None,
                () = over(grace.as_mut()) => client.flights.cancel_all(),
            }
            if grace.as_ref().as_pin_ref().is_some_and(|grace| grace.is_elapsed()) {
                grace.set(None);
            }
        }
    }
}

async fn over(grace: std::pin::Pin<&mut Option<tokio::time::Sleep>>) {
    match grace.as_pin_mut() {
        Some(grace) => grace.await,
        None => std::future::pending().await,
    }
}

async fn changes(client: &Client) -> Vec<Change> {
    match &client.ear {
        Some(ear) => ear.watch.next().await,
        None => std::future::pending().await,
    }
}

async fn next(carried: &mut Option<Carried>) -> Vec<u8> {
    match carried {
        Some(carried) => carried.next().await,
        None => std::future::pending().await,
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), mut sent: Sent) -> io::Result<()> {
    if sent.flight.as_ref().is_some_and(|flight| flight.is_cancelled()) {
        return Ok(());
    }
    sent.bytes.push(b'\n');
    output.write_all(&sent.bytes).await?;
    output.flush().await
}

impl Client {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            version: None,
            ear: None,
            flights: Arc::default(),
            running: Arc::new(Semaphore::new(AT_ONCE)),
            changes: 0,
            gone: CancellationToken::new(),
        }
    }

    /// Tells what changed. What a provider has to be asked for is told later: nothing else waits for that.
    async fn tell(
        &mut self,
        changes: Vec<Change>,
        carried: &mut Option<Carried>,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let Some(ear) = &self.ear else { return Ok(()) };
        let carried = carried.get_or_insert_with(|| Carried::new(self.endpoint.clone(), ear.clone()));
        let first = self.changes + 1;
        self.changes += changes.len() as u64;
        for (_, change) in carried.take((first..).zip(changes)) {
            write(output, Sent { bytes: notification(&change, None), flight: None }).await?;
        }
        Ok(())
    }

    /// Answers what can be answered at once, and sets going what cannot.
    async fn take(
        &mut self,
        line: Line,
        sender: Option<&mpsc::Sender<Sent>>,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let bytes = match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => None,
            Line::Whole(bytes) => sender.and_then(|sender| self.read(&bytes, sender)),
            Line::TooLong => {
                let limit = self.endpoint.0.config.body_limit;
                Some(error(None, &Refusal::new(PARSE, format!("the line has more than {limit} bytes"))))
            }
            Line::End => None,
        };
        match bytes {
            Some(bytes) => write(output, Sent { bytes, flight: None }).await,
            None => Ok(()),
        }
    }

    fn read(&mut self, bytes: &[u8], sender: &mpsc::Sender<Sent>) -> Option<Vec<u8>> {
        match message::read(bytes) {
            Err(refusal) => Some(error(None, &refusal)),
            Ok(Incoming::One(message)) => self.one(message, sender),
            Ok(Incoming::Batch(batch)) => self.batch(batch, sender),
        }
    }

    fn one(&mut self, message: Message<'_>, sender: &mpsc::Sender<Sent>) -> Option<Vec<u8>> {
        match message {
            Message::Malformed { id, refusal } => Some(error(id.as_ref(), &refusal)),
            Message::Response => None,
            Message::Notification(notification) => {
                if notification.method == "notifications/cancelled" {
                    self.flights.cancel(&notification.params);
                }
                None
            }
            Message::Request(request) => match self.request(&request, sender) {
                Ok(answer) => answer,
                Err(refusal) => Some(self.refuse(&request, &refusal)),
            },
        }
    }

    fn refuse(&self, request: &Request<'_>, refusal: &Refusal) -> Vec<u8> {
        self.endpoint.count_unknown(request, refusal);
        error(Some(&request.id), refusal)
    }

    fn request(
        &mut self,
        request: &Request<'_>,
        sender: &mpsc::Sender<Sent>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        match classify(request, None)? {
            Era::Initialize => return self.initialize(request).map(Some),
            Era::Listen => self.listen(request, sender)?,
            Era::Modern(method) => {
                let method = self.endpoint.spoken(method, request)?;
                let (exchange, flight) = self.start(request, method, Peer::Modern)?;
                self.send(exchange, flight, sender);
            }
            Era::Legacy => {
                let (exchange, flight) = self.start_legacy(request)?;
                self.send(exchange, flight, sender);
            }
        }
        Ok(None)
    }

    fn initialize(&mut self, request: &Request<'_>) -> Result<Vec<u8>, Refusal> {
        let version = Legacy::requested(request)?;
        let caller = &self.endpoint.0.config.caller;
        let ear = || Arc::new(Ear::new(self.endpoint.0.gateway.watch(caller), caller.clone()));
        self.ear.get_or_insert_with(ear).watch.list_changes(true);
        self.version = Some(version);
        Ok(self.endpoint.handshake(request, None, version, caller))
    }

    fn start_legacy(&self, request: &Request<'_>) -> Result<(Exchange, Arc<Flight>), Refusal> {
        let method = self.endpoint.legacy_method(request)?;
        let caller = &self.endpoint.0.config.caller;
        let peer = match (&self.ear, method) {
            (Some(ear), _) => Peer::Legacy(ear.clone()),
            // A client may look whether anybody is there before it says who it is.
            (None, Method::Ping) => {
                Peer::Legacy(Arc::new(Ear::new(self.endpoint.0.gateway.watch(caller), caller.clone())))
            }
            (None, _) => return Err(Refusal::new(REQUEST, "call `initialize` first")),
        };
        self.start(request, method, peer)
    }

    fn start(
        &self,
        request: &Request<'_>,
        method: Method,
        peer: Peer,
    ) -> Result<(Exchange, Arc<Flight>), Refusal> {
        let Asking { id, ask, call, reports } =
            Asking::read(request, method, self.endpoint.0.config.caller.clone())?;
        let flight = self.depart(request)?;
        let (running, held) = (self.running.clone(), flight.clone());
        // A ping is answered however much is going on.
        let quick = matches!(method, Method::Ping | Method::Discover);
        let answer = self.endpoint.clone().answer(id, ask, call, peer).boxed();
        let answer = async move {
            let _place = if quick { None } else { running.acquire_owned().await.ok() };
            held.until_cancelled(pin!(answer)).await
        };
        Ok((Exchange::new(reports, answer.boxed()), flight))
    }

    fn depart(&self, request: &Request<'_>) -> Result<Arc<Flight>, Refusal> {
        if self.flights.len() >= MOST {
            return Err(Refusal::new(INTERNAL, "too many requests are under way: wait for some to end"));
        }
        self.flights.depart(&request.id).map(Arc::new).ok_or_else(Refusal::id_taken)
    }

    fn send(&self, mut exchange: Exchange, flight: Arc<Flight>, sender: &mpsc::Sender<Sent>) {
        let sender = sender.clone();
        self.endpoint.0.drain.spawn(async move {
            while let Some(Said::Report(bytes) | Said::Answer(bytes)) = exchange.next().await {
                let sent = Sent { bytes, flight: Some(flight.clone()) };
                if sender.send(sent).await.is_err() {
                    return;
                }
            }
        });
    }

    fn listen(&self, request: &Request<'_>, sender: &mpsc::Sender<Sent>) -> Result<(), Refusal> {
        let filter = Filter::read(&request.params)?;
        let call = method::call(&request.params, self.endpoint.0.config.caller.clone())?;
        let seat = self.endpoint.0.gateway.seat(&self.endpoint.0.config.caller).map_err(Refusal::used_up)?;
        let permit = self.endpoint.0.streams.clone().try_acquire_owned();
        let permit =
            permit.map_err(|_| Refusal::new(INTERNAL, "too many clients are listening: end some first"))?;
        let flight = self.depart(request)?;
        let (endpoint, sender, gone, id) =
            (self.endpoint.clone(), sender.clone(), self.gone.clone(), request.id.clone());
        self.endpoint.0.drain.spawn(async move {
            let listening = async {
                let listening = Listening::begin(&endpoint, id, filter, call).await;
                listen(&endpoint, &listening, &flight, &sender).await;
            };
            tokio::select! {
                () = flight.cancelled() => {}
                () = gone.cancelled() => {}
                () = listening => {}
            }
            drop((permit, seat));
        });
        Ok(())
    }

    /// The answers of a batch, in one line.
    fn batch(&mut self, batch: Vec<Message<'_>>, sender: &mpsc::Sender<Sent>) -> Option<Vec<u8>> {
        let modern = batch
            .iter()
            .any(|message| matches!(message, Message::Request(request) if claims(&request.params)));
        if modern || !self.version.is_some_and(Legacy::has_batches) {
            return Some(error(None, &Refusal::new(REQUEST, "this version of the protocol has no batches")));
        }
        let (mut answers, mut exchanges) = (vec![], vec![]);
        for message in batch {
            match message {
                Message::Request(request) => match self.start_legacy(&request) {
                    Ok(exchange) => exchanges.push(exchange),
                    Err(refusal) => answers.push(self.refuse(&request, &refusal)),
                },
                other => answers.extend(self.one(other, sender)),
            }
        }
        let sender = sender.clone();
        self.endpoint.0.drain.spawn(async move {
            for (mut exchange, _flight) in exchanges {
                while let Some(said) = exchange.next().await {
                    if let Said::Answer(bytes) = said {
                        answers.push(bytes);
                    }
                }
            }
            if !answers.is_empty() {
                // Nobody is left to hear it when this fails.
                let _ = sender.send(Sent { bytes: array(&answers), flight: None }).await;
            }
        });
        None
    }
}

impl Drop for Client {
    /// Also where it could not be written to: nobody is left to hear the answers.
    fn drop(&mut self) {
        self.gone.cancel();
        self.flights.cancel_all();
    }
}

async fn listen(
    endpoint: &Endpoint,
    listening: &Listening,
    flight: &Arc<Flight>,
    sender: &mpsc::Sender<Sent>,
) {
    let send = |bytes| sender.send(Sent { bytes, flight: Some(flight.clone()) });
    if send(listening.acknowledgement()).await.is_err() {
        return;
    }
    loop {
        let news = tokio::select! {
            () = endpoint.0.drain.stopping() => {
                // Nobody is left to hear it when this fails.
                let _ = send(endpoint.closing(listening.id())).await;
                return;
            }
            news = listening.next() => news,
        };
        for bytes in news {
            if send(bytes).await.is_err() {
                return;
            }
        }
    }
}
