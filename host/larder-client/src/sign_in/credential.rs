//! The tokens of one server while a client is connected to it.

use std::fmt;
use std::time::SystemTime;

use reqwest::{Certificate, StatusCode};
use tokio::sync::Mutex;
use url::Url;

use super::SignIn;
use super::authorization::Authorization;
use super::challenge::BearerChallenge;
use super::error::SignInError;
use super::oauth_client::OauthClient;
use super::oauth_http::OauthHttp;
use super::token_request::{TokenEndpoint, Tokens, post_form, seconds};
use super::token_store::SignInRecord;
use super::url_policy::UrlPolicy;

/// How often the user signs in while one client is connected. A server that never accepts a token must not cause an
/// endless loop.
const MAX_SIGN_INS: u32 = 3;
/// With these errors, a refresh token will never be accepted again.
const FINAL_ERRORS: [&str; 3] = ["invalid_grant", "invalid_client", "unauthorized_client"];

/// How to connect to an authorization server.
#[derive(Clone)]
pub(crate) struct Connection {
    /// Certificates that are trusted in addition to the certificates of the system.
    pub(crate) certificates: Vec<Certificate>,
    /// Whether plain HTTP is allowed for all machines.
    pub(crate) insecure: bool,
}

/// The tokens of one server.
pub(crate) struct Credential {
    server: Url,
    sign_in: SignIn,
    connection: Connection,
    state: Mutex<State>,
}

struct State {
    record: Option<SignInRecord>,
    /// The client of an earlier sign-in.
    client: Option<OauthClient>,
    /// The token that replaced a token that the server refused.
    replacement: Option<String>,
    sign_ins: u32,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

impl Credential {
    /// Loads the stored tokens of a server. `None` if there are none and nobody can be asked.
    pub(crate) fn load(
        server: &Url,
        sign_in: &SignIn,
        connection: Connection,
    ) -> Result<Option<Self>, SignInError> {
        let record = sign_in.store.load(server)?;
        if record.is_none() && sign_in.prompt.is_none() {
            return Ok(None);
        }
        let client = record.as_ref().map(|record| record.client.clone());
        let state = State::new(record, client);
        Ok(Some(Self::new(server, sign_in, connection, state)))
    }

    /// Returns a credential without tokens, for a new sign-in. It uses the client of an earlier one.
    pub(crate) fn without_tokens(server: &Url, sign_in: &SignIn, connection: Connection) -> Self {
        // A file that cannot be read is replaced.
        let earlier = sign_in.store.load(server).ok().flatten();
        let client = earlier.map(|record| record.client);
        Self::new(server, sign_in, connection, State::new(None, client))
    }

    fn new(server: &Url, sign_in: &SignIn, connection: Connection, state: State) -> Self {
        Self {
            server: server.clone(),
            sign_in: sign_in.clone(),
            connection,
            state: Mutex::new(state),
        }
    }

    /// Returns the access token for a request. Renews it if it ends soon.
    pub(crate) async fn token(&self) -> Result<Option<String>, SignInError> {
        let mut state = self.state.lock().await;
        let Some(record) = &mut state.record else {
            return Ok(None);
        };
        if record.ends_soon() {
            match self.renew(record).await {
                // The server will refuse the old token, and then the user can sign in.
                Err(SignInError::Ended(_)) if self.sign_in.prompt.is_some() => {}
                result => result?,
            }
        }
        Ok(Some(record.access_token.clone()))
    }

    /// Returns whether the request can be repeated with another token. `refused` is the token of the request that the
    /// server refused.
    pub(crate) async fn recover(
        &self,
        refused: Option<&str>,
        status: StatusCode,
        challenge: Option<&BearerChallenge>,
    ) -> Result<bool, SignInError> {
        let mut state = self.state.lock().await;
        if status == StatusCode::UNAUTHORIZED && self.replace(&mut state, refused).await? {
            return Ok(true);
        }
        let lacks_scopes = challenge.is_some_and(|challenge| challenge.lacks_scopes);
        let is_final = status != StatusCode::UNAUTHORIZED && !lacks_scopes;
        if is_final || !self.may_ask(&state) {
            return Ok(false);
        }
        let none = BearerChallenge::default();
        self.authorize(&mut state, challenge.unwrap_or(&none))
            .await?;
        Ok(true)
    }

    fn may_ask(&self, state: &State) -> bool {
        self.sign_in.prompt.is_some() && state.sign_ins < MAX_SIGN_INS
    }

    /// Lets the user sign in, unless that has happened already. Returns the scopes that were requested.
    pub(crate) async fn ensure_signed_in(&self) -> Result<Vec<String>, SignInError> {
        let mut state = self.state.lock().await;
        if state.sign_ins == 0 {
            let none = BearerChallenge::default();
            self.authorize(&mut state, &none).await?;
        }
        let record = state.record.as_ref();
        Ok(record
            .map(|record| record.scopes.clone())
            .unwrap_or_default())
    }

    /// Deletes the stored tokens, and makes the authorization server revoke them. Returns whether there were any.
    pub(crate) async fn log_out(
        server: &Url,
        sign_in: &SignIn,
        connection: Connection,
    ) -> Result<bool, SignInError> {
        // A file that cannot be read is deleted too.
        let record = sign_in.store.load(server).ok().flatten();
        let was_stored = sign_in.store.remove(server)?;
        if let Some(record) = record {
            let http = connection.http(server, sign_in).await;
            revoke(&http, &record).await?;
        }
        Ok(was_stored)
    }

    /// Replaces a token that the server refused before its end. Returns whether there is another token now.
    async fn replace(&self, state: &mut State, refused: Option<&str>) -> Result<bool, SignInError> {
        let Some(record) = &mut state.record else {
            return Ok(false);
        };
        if refused != Some(&record.access_token) {
            // Another request of this client has renewed the token.
            return Ok(true);
        }
        if record.refresh_token.is_none() || state.replacement.as_deref() == refused {
            return Ok(false);
        }
        match self.renew(record).await {
            Ok(()) => {
                state.replacement = Some(record.access_token.clone());
                Ok(true)
            }
            Err(SignInError::Ended(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn authorize(
        &self,
        state: &mut State,
        challenge: &BearerChallenge,
    ) -> Result<(), SignInError> {
        let Some(prompt) = &self.sign_in.prompt else {
            return Err(SignInError::Ended(self.server.to_string()));
        };
        state.sign_ins = state.sign_ins.saturating_add(1);
        let http = self.http().await;
        let previous_scopes = state.record.as_ref().map(|record| record.scopes.as_slice());
        let authorization = Authorization {
            sign_in: &self.sign_in,
            prompt,
            http: &http,
            server: &self.server,
            challenge,
            previous_client: state.client.as_ref(),
            previous_scopes: previous_scopes.unwrap_or_default(),
        };
        let record = authorization.run().await?;
        let _lock = self.sign_in.store.lock().await?;
        self.sign_in.store.save(&self.server, &record)?;
        state.client = Some(record.client.clone());
        state.record = Some(record);
        Ok(())
    }

    /// Gets a new access token with the refresh token. Another process may have done this already.
    async fn renew(&self, record: &mut SignInRecord) -> Result<(), SignInError> {
        let ended = || SignInError::Ended(self.server.to_string());
        let store = &self.sign_in.store;
        let _lock = store.lock().await?;
        let stored = store.load(&self.server)?.ok_or_else(ended)?;
        if stored.access_token != record.access_token {
            *record = stored;
            return Ok(());
        }
        match self.renewed_tokens(record).await {
            Ok(tokens) => {
                record.replace_tokens(tokens);
                store.save(&self.server, record)
            }
            Err(SignInError::Refusal { code, .. }) if FINAL_ERRORS.contains(&code.as_str()) => {
                Err(ended())
            }
            Err(error) => Err(error),
        }
    }

    async fn renewed_tokens(&self, record: &SignInRecord) -> Result<Tokens, SignInError> {
        let http = self.http().await;
        let endpoint = TokenEndpoint {
            http: &http,
            url: &record.token_endpoint,
            client: &record.client,
        };
        let parameters = [
            ("grant_type", "refresh_token"),
            (
                "refresh_token",
                record.refresh_token.as_deref().unwrap_or_default(),
            ),
            ("resource", record.resource.as_str()),
        ];
        endpoint.request("the refresh token", &parameters).await
    }

    async fn http(&self) -> OauthHttp {
        self.connection.http(&self.server, &self.sign_in).await
    }
}

impl State {
    fn new(record: Option<SignInRecord>, client: Option<OauthClient>) -> Self {
        Self {
            record,
            client,
            replacement: None,
            sign_ins: 0,
        }
    }
}

impl Connection {
    async fn http(&self, server: &Url, sign_in: &SignIn) -> OauthHttp {
        OauthHttp {
            policy: UrlPolicy::of_server(server, sign_in.is_public, self.insecure).await,
            certificates: self.certificates.clone(),
            timeout: sign_in.timeout,
        }
    }
}

impl SignInRecord {
    fn ends_soon(&self) -> bool {
        let now = seconds(SystemTime::now());
        self.refresh_token.is_some() && self.renew_at.is_some_and(|time| time <= now)
    }

    /// An authorization server that does not return another refresh token continues to accept the old one.
    fn replace_tokens(&mut self, tokens: Tokens) {
        self.access_token = tokens.access_token;
        self.refresh_token = tokens.refresh_token.or(self.refresh_token.take());
        self.renew_at = tokens.renew_at;
    }
}

async fn revoke(http: &OauthHttp, record: &SignInRecord) -> Result<(), SignInError> {
    let Some(url) = &record.revocation_endpoint else {
        return Ok(());
    };
    let token = record
        .refresh_token
        .as_ref()
        .unwrap_or(&record.access_token);
    let response = post_form(http, url, &record.client, &[("token", token)]).await?;
    if response.status.is_success() {
        Ok(())
    } else {
        Err(response.refusal(url, "to revoke the tokens"))
    }
}
