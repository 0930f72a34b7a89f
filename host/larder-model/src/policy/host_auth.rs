//! The credentials that the host adds to requests of guests, with the names of their secrets.

use std::fmt;
use std::iter;

use super::oauth_client::OauthClient;
use super::quoted::quoted;

/// A credential that the host adds to requests. A guest never has its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAuth {
    /// The name of the secret.
    pub secret: String,
    /// The part of a request that contains the secret, or what is derived from it.
    pub placement: CredentialPlacement,
    /// The client certificate of the connection.
    pub certificate: Option<CertificateSecrets>,
    /// Whether the credential may be sent without TLS.
    pub plain_http: bool,
}

/// The part of a request that contains a secret, or what is derived from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialPlacement {
    /// The header `authorization`, as a bearer token.
    Bearer,
    /// The header `authorization`, as the password of this user.
    Basic {
        /// The user.
        user: String,
    },
    /// A header.
    Header {
        /// The name of the header.
        name: String,
    },
    /// A parameter of the query.
    Query {
        /// The name of the parameter.
        name: String,
    },
    /// The header `authorization`, as a signature of the request. The secret is the secret access key.
    AwsV4(AwsSigner),
    /// The header `authorization`, as a bearer token that an authorization server issues for the secret.
    ClientCredentials(OauthClient),
    /// No part of the request, but its TLS connection. The secret is the private key of the client certificate.
    ClientCertificate,
}

/// The names of the secrets of a client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateSecrets {
    /// The private key.
    pub key: String,
    /// The certificate; none if the same secret contains both.
    pub certificate: Option<String>,
}

/// The owner and the scope of signatures (AWS Signature Version 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsSigner {
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The service, such as `s3`.
    pub service: String,
    /// The public name of the secret access key.
    pub access_key_id: String,
    /// The name of the secret with the session token, for temporary credentials.
    pub session_token: Option<String>,
}

impl HostAuth {
    /// The names of all secrets of the credential.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let own = iter::once(self.secret.as_str()).chain(self.placement.other_secret());
        let certificate = self.certificate.iter();
        let certificate = certificate.flat_map(|it| iter::once(&it.key).chain(&it.certificate));
        own.chain(
            certificate
                .map(String::as_str)
                .filter(|name| *name != self.secret),
        )
    }
}

impl CredentialPlacement {
    /// The name of the second secret of the credential.
    pub fn other_secret(&self) -> Option<&str> {
        match self {
            Self::AwsV4(signer) => signer.session_token.as_deref(),
            _ => None,
        }
    }
}

/// The placement and the names of the secrets, such as `bearer with secret token`.
impl fmt::Display for HostAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.placement)?;
        if self.certificate.is_some() && self.placement != CredentialPlacement::ClientCertificate {
            write!(f, " and {}", CredentialPlacement::ClientCertificate)?;
        }
        f.write_str(" with secret ")?;
        for (number, name) in self.secrets().enumerate() {
            let separator = if number > 0 { " and " } else { "" };
            write!(f, "{separator}{}", quoted(name))?;
        }
        if self.plain_http {
            f.write_str(", plain http")?;
        }
        Ok(())
    }
}

impl fmt::Display for CredentialPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bearer => f.write_str("bearer"),
            Self::Basic { user } => write!(f, "basic {}", quoted(user)),
            Self::Header { name } => write!(f, "header {}", quoted(name)),
            Self::Query { name } => write!(f, "query {}", quoted(name)),
            Self::AwsV4(signer) => signer.fmt(f),
            Self::ClientCredentials(client) => client.fmt(f),
            Self::ClientCertificate => f.write_str("client_certificate"),
        }
    }
}

impl fmt::Display for AwsSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let service = quoted(&self.service);
        let region = quoted(&self.region);
        let key = quoted(&self.access_key_id);
        write!(f, "aws_v4 {service} in {region} as {key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_names_of_all_secrets() {
        let auth = HostAuth {
            secret: "key".into(),
            placement: CredentialPlacement::AwsV4(AwsSigner {
                region: "eu-central-1".into(),
                service: "s3".into(),
                access_key_id: "AKIA1".into(),
                session_token: Some("session token".into()),
            }),
            certificate: None,
            plain_http: false,
        };
        assert_eq!(
            auth.to_string(),
            "aws_v4 s3 in eu-central-1 as AKIA1 with secret key and \"session token\""
        );
        assert_eq!(auth.secrets().collect::<Vec<_>>(), ["key", "session token"]);
    }

    #[test]
    fn a_certificate_can_belong_to_another_credential() {
        let certificate = CertificateSecrets {
            key: "key".into(),
            certificate: Some("certificate".into()),
        };
        let alone = HostAuth {
            secret: "key".into(),
            placement: CredentialPlacement::ClientCertificate,
            certificate: Some(certificate),
            plain_http: false,
        };
        assert_eq!(
            alone.to_string(),
            "client_certificate with secret key and certificate"
        );
        let both = HostAuth {
            secret: "token".into(),
            placement: CredentialPlacement::Bearer,
            ..alone
        };
        assert_eq!(
            both.to_string(),
            "bearer and client_certificate with secret token and key and certificate"
        );
    }
}
