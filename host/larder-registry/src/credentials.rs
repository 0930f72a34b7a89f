//! Finds the credentials for a registry: from the configuration, or from Docker.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use docker_credential::{CredentialRetrievalError, DockerCredential};
use larder_model::policy::Secret;
use tokio::runtime::Handle;

use crate::Error;
use crate::access::{Access, Credentials};

/// How long a credential helper may take.
const HELPER_TIMEOUT: Duration = Duration::from_secs(20);
/// The name that Docker's configuration uses for its own registry.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// Returns the credentials for a registry. `None` if there are no credentials, because many registries answer without
/// them.
pub(crate) async fn find(access: &Access, registry: &str) -> Result<Option<Credentials>, Error> {
    let configured = access.registry(registry)?.credentials.clone();
    let (None, Some(config)) = (&configured, access.docker_config.clone()) else {
        return Ok(configured);
    };
    let failed = |cause: String| Error::Credentials {
        registry: registry.to_owned(),
        cause,
    };
    let names = docker_names(registry);
    // This is not spawned through the drain, because shutdown must not wait for a helper that hangs.
    let search = move || {
        names
            .iter()
            .find_map(|name| ask_docker(&config, name).transpose())
    };
    let search = Handle::current().spawn_blocking(search);
    match tokio::time::timeout(HELPER_TIMEOUT, search).await {
        Ok(Ok(found)) => found.transpose().map_err(failed),
        Ok(Err(panic)) => Err(failed(panic.to_string())),
        Err(_) => Err(failed(format!(
            "Docker's credential helper took longer than {HELPER_TIMEOUT:?}"
        ))),
    }
}

/// The names that a registry may have in Docker's configuration.
fn docker_names(registry: &str) -> Vec<String> {
    match registry {
        "docker.io" | "index.docker.io" | "registry-1.docker.io" => vec![DOCKER_HUB.to_owned()],
        _ => vec![
            registry.to_owned(),
            format!("https://{registry}"),
            format!("https://{registry}/v1/"),
        ],
    }
}

/// Reads Docker's configuration and calls its helpers. The error contains no output of a helper, because the output may
/// contain the credentials.
fn ask_docker(config: &Path, name: &str) -> Result<Option<Credentials>, String> {
    use CredentialRetrievalError as E;
    let cannot_read =
        |cause: &dyn std::fmt::Display| format!("{} cannot be read: {cause}", config.display());
    let text = match std::fs::read(config) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| cannot_read(&error))?,
    };
    match docker_credential::get_credential_from_reader(text.as_slice(), name) {
        Ok(found) => Ok(Some(found.into())),
        Err(E::NoCredentialConfigured | E::ConfigNotFound) => Ok(None),
        // With this error, helpers report that they have no credentials for the registry.
        Err(E::HelperFailure { stdout, stderr, .. })
            if is_not_found(&stdout) || is_not_found(&stderr) =>
        {
            Ok(None)
        }
        Err(E::HelperFailure { helper, .. }) => Err(format!(
            "the credential helper docker-credential-{helper} failed: run it to see its message"
        )),
        Err(E::HelperCommunicationError) => {
            Err("Docker's credential helper cannot be run: is it installed?".into())
        }
        Err(E::ConfigReadError) => Err(cannot_read(&"it is not Docker's configuration")),
        Err(E::MalformedHelperResponse) => {
            Err("Docker's credential helper returned something else".into())
        }
        Err(E::CredentialDecodingError | E::CredentialMismatchError) => {
            Err("the credentials in Docker's configuration are damaged: run `docker login`".into())
        }
    }
}

impl From<DockerCredential> for Credentials {
    fn from(found: DockerCredential) -> Self {
        match found {
            // With this user name, some helpers return a token.
            DockerCredential::UsernamePassword(username, token) if username == "<token>" => {
                Self::Identity(Secret::new(&token))
            }
            DockerCredential::UsernamePassword(username, password) => Self::Basic {
                username,
                password: Secret::new(&password),
            },
            DockerCredential::IdentityToken(token) => Self::Identity(Secret::new(&token)),
        }
    }
}

fn is_not_found(output: &str) -> bool {
    output.contains("credentials not found")
}
