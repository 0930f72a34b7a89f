//! The cost of a credential that the host adds to a request of a guest. The requests go to a server in this process, in
//! one run, with and without a credential. Measures the CPU time, because other work on the machine changes it little.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use criterion::Criterion;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{
    AwsSigner, Credential, CredentialPlacement, Grant, GuestLifetime, HostAuth, HostRule, Permit,
    Secret, SecretHosts,
};
use larder_model::resource::Match;
use larder_model::uri::Uri;
use larder_provider::Provider as _;
use larder_sandbox::provider::Provider;
use larder_uri_template::Variable;
use rustix::time::{ClockId, clock_gettime};

use super::{Fixture, provider_parts, target};

const SECRET: &str = "token";

/// The first is the reference of the others.
fn placements() -> [(&'static str, Option<CredentialPlacement>); 3] {
    let signer = AwsSigner {
        region: "eu-central-1".into(),
        service: "s3".into(),
        access_key_id: "AKIA1".into(),
        session_token: None,
    };
    [
        ("no credential", None),
        ("bearer", Some(CredentialPlacement::Bearer)),
        ("aws_v4", Some(CredentialPlacement::AwsV4(signer))),
    ]
}

pub(crate) fn requests(c: &mut Criterion, fixture: &Fixture) {
    let port = serve();
    let credential = Credential {
        secret: Secret::new("a-secret-of-an-average-length-0123456789"),
        hosts: SecretHosts::new([rule(port, None)]),
    };
    let credentials = [(SECRET.to_owned(), credential)].into();
    let teams = [(TeamName::default_team(), credentials)].into();
    fixture.sandbox.credentials().set(teams);
    for (name, placement) in placements() {
        let provider = provider(fixture, rule(port, placement));
        let read = || send(&provider, port);
        c.bench_function(&format!("request/{name}"), |b| {
            b.to_async(&fixture.runtime)
                .iter_custom(|count| async move {
                    let start = cpu_time();
                    for _ in 0..count {
                        read().await;
                    }
                    cpu_time() - start
                });
        });
    }
}

fn rule(port: u16, placement: Option<CredentialPlacement>) -> HostRule {
    HostRule {
        scheme: Some("http".into()),
        port: Some(port),
        private: true,
        auth: placement.map(|placement| HostAuth {
            secret: SECRET.into(),
            placement,
            certificate: None,
            plain_http: true,
        }),
        ..HostRule::of_host("127.0.0.1")
    }
}

/// A provider that sends the requests of its callers, with one rule.
fn provider(fixture: &Fixture, rule: HostRule) -> Provider {
    let guest = std::fs::read(target().join("guests/credentials.wasm"))
        .expect("build it with `cargo xtask guests`");
    let team = TeamName::default_team();
    let compiled = fixture.sandbox.compile(&team, guest.into());
    let compiled = fixture.runtime.block_on(compiled).expect("a provider");
    let grant = Grant {
        guests: GuestLifetime::Reused,
        hosts: vec![rule],
        ..Grant::default()
    };
    let name = ProviderName::parse("credentials").expect("a name");
    let parts = provider_parts(name, grant, fixture.signals.clone(), &fixture.drain);
    Provider::new(parts, Arc::new(compiled), fixture.sandbox.clone())
}

/// Lets a guest send one request, and checks that a response arrives.
async fn send(provider: &Provider, port: u16) {
    let uri = Uri::parse("credentials://http-client").expect("a URI");
    let matched = Match {
        template: "credentials://http-client{?url,method,header,reversed}".into(),
        variables: vec![Variable::new(
            "url",
            format!("http://127.0.0.1:{port}/a?b=c"),
        )],
    };
    let permit = Permit::for_host();
    let reading = provider.read(permit, &uri, Some(matched), None, Arc::new(|_| true));
    let reading = reading.await.expect("a reading");
    let seen = format!("{:?}", reading.contents);
    assert!(seen.contains("200 "), "{seen}");
}

/// Answers requests without bodies until the process ends. Returns the port.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

/// Answers the requests of one connection until it ends.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let body = "x".repeat(1 << 10);
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut received = [0; 4096];
    let mut length = 0;
    loop {
        length += match stream.read(&mut received[length..])? {
            0 => return Ok(()),
            count => count,
        };
        if received[..length].ends_with(b"\r\n\r\n") {
            stream.write_all(response.as_bytes())?;
            length = 0;
        }
    }
}

/// The CPU time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a time since the start of the process")
}
