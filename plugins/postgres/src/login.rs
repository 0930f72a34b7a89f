//! The beginning of a connection: the user and the server each prove that they know the password (SCRAM-SHA-256).

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use larder_provider::Error;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

use crate::connection::Connection;
use crate::failure::{Failure, Refusal};
use crate::settings::Server;
use crate::stream::{self, Stream};

/// Connects to the database of a server.
pub(crate) fn connect(server: &Server) -> Result<Connection, Failure> {
    log_in(stream::open(server).map_err(Failure::Login)?, server)
}

/// Sends the user and the password on a new connection.
pub(crate) fn log_in(stream: Box<dyn Stream>, server: &Server) -> Result<Connection, Failure> {
    let mut connection = Connection::new(stream);
    let mut message = BytesMut::new();
    let names = [
        ("user", server.user.as_str()),
        ("database", &server.database),
    ];
    let names = names
        .into_iter()
        .chain([("client_encoding", "UTF8"), ("application_name", "larder")]);
    frontend::startup_message(names, &mut message)?;
    connection.send(&message)?;
    authenticate(&mut connection, server)?;
    loop {
        match connection.receive()? {
            Message::ReadyForQuery(_) => return Ok(connection),
            Message::ErrorResponse(body) => {
                return Err(refused(Refusal::read(body.fields())?, server));
            }
            // The server's parameters, and the key to cancel a statement.
            _ => {}
        }
    }
}

fn authenticate(connection: &mut Connection, server: &Server) -> Result<(), Failure> {
    loop {
        return match (connection.receive()?, &server.password) {
            (Message::AuthenticationOk, None) => Ok(()),
            (Message::AuthenticationOk, Some(_)) => Err(login(
                "the server did not ask for the password, so it may be another one: remove the setting `password`, or \
                 set `scram-sha-256` in pg_hba.conf",
            )),
            (Message::AuthenticationSasl(body), Some(password)) => {
                scram(connection, &body, password)
            }
            (Message::ErrorResponse(body), _) => {
                Err(refused(Refusal::read(body.fields())?, server))
            }
            (Message::NoticeResponse(_), _) => continue,
            (Message::AuthenticationSasl(_), None) => {
                Err(login("the server asks for a password: set `password`"))
            }
            (
                Message::AuthenticationCleartextPassword | Message::AuthenticationMd5Password(_),
                _,
            ) => Err(login(
                "the server asks for the password in a way that is not safe: set `scram-sha-256` in pg_hba.conf and \
                 `password_encryption`, then set the password of the user again",
            )),
            _ => Err(login(
                "the server asks for authentication that this provider does not have: use scram-sha-256",
            )),
        };
    }
}

fn scram(
    connection: &mut Connection,
    offered: &AuthenticationSaslBody,
    password: &str,
) -> Result<(), Failure> {
    if !offered
        .mechanisms()
        .any(|mechanism| Ok(mechanism == SCRAM_SHA_256))?
    {
        return Err(login("the server does not offer SCRAM-SHA-256"));
    }
    let failed = |error: std::io::Error| login(&format!("authentication failed: {error}"));
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    let mut message = BytesMut::new();
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut message)?;
    connection.send(&message)?;
    loop {
        message.clear();
        match connection.receive()? {
            Message::AuthenticationSaslContinue(body) => {
                scram.update(body.data()).map_err(failed)?;
                frontend::sasl_response(scram.message(), &mut message)?;
                connection.send(&message)?;
            }
            Message::AuthenticationSaslFinal(body) => {
                scram.finish(body.data()).map_err(failed)?;
                break;
            }
            Message::ErrorResponse(body) => {
                return Err(Failure::Refused(Refusal::read(body.fields())?));
            }
            Message::NoticeResponse(_) => {}
            _ => return Err(login("the server did not prove that it knows the password")),
        }
    }
    match connection.receive()? {
        Message::AuthenticationOk => Ok(()),
        _ => Err(login("the server did not accept the password")),
    }
}

fn login(why: &str) -> Failure {
    Failure::Login(Error::Denied(why.to_owned()))
}

/// A server that requires TLS says so in the text of its error only.
fn refused(refusal: Refusal, server: &Server) -> Failure {
    if server.tls || refusal.code != "28000" {
        return Failure::Refused(refusal);
    }
    match Error::from(refusal) {
        Error::Denied(message) => Failure::Login(Error::Denied(format!(
            "{message}; try `tls = true` in the settings"
        ))),
        error => Failure::Login(error),
    }
}
