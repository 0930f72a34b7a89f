//! Nothing is granted by default, and a grant allows nothing beyond it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt as _;
use larder_model::policy::{Access, ApprovalMode, Bounds, Dir, HostRule};
use tempfile::TempDir;

use crate::support::harness::{TestServer, component_path};

#[tokio::test]
async fn a_provider_gets_only_its_own_settings() {
    let server = TestServer::builder("echo")
        .setting("echo", "colour", "blue")
        .setting("other", "secret", "x")
        .start()
        .await;
    assert_eq!(server.text("echo://setting/colour").await, "blue");
    assert_eq!(server.text("echo://setting/secret").await, "unset");
}

#[tokio::test]
async fn stdin_and_the_environment_are_empty() {
    let server = TestServer::builder("stdin env").start().await;
    assert_eq!(server.text("stdin://all").await, "ok: \"\"");
    let uri = server
        .uris()
        .await
        .into_iter()
        .find(|uri| uri.starts_with("env:"))
        .unwrap();
    let all = server.text(&uri).await;
    assert!(!all.contains("PATH") && !all.contains("CARGO"), "{all}");

    let granted = TestServer::builder("env").provider("env", |grant, _| {
        grant.env.insert("COLOUR".into(), "blue".into());
    });
    let all = granted.start().await.text(&uri).await;
    assert!(
        all.contains("COLOUR") && all.contains("blue") && !all.contains("PATH"),
        "{all}"
    );
}

/// A folder `inside` with a file and with links to a secret next to this folder.
fn folder() -> TempDir {
    let root = TempDir::new().unwrap();
    let inside = root.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(root.path().join("secret"), "secret").unwrap();
    std::fs::write(inside.join("file"), "content").unwrap();
    std::os::unix::fs::symlink(root.path().join("secret"), inside.join("absolute-link")).unwrap();
    std::os::unix::fs::symlink("../secret", inside.join("link")).unwrap();
    root
}

async fn with_folder(root: &TempDir, access: Access) -> TestServer {
    let host = root.path().join("inside");
    let plan = TestServer::builder("dirs").provider("dirs", |grant, _| {
        grant.dirs.push(Dir {
            host,
            guest: "/data".into(),
            access,
            is_canonical: false,
        });
    });
    plan.start().await
}

async fn attempt(server: &TestServer, action: &str) -> String {
    server.text(&format!("dirs://{action}")).await
}

#[tokio::test]
async fn no_folder_is_granted_by_default() {
    let server = TestServer::builder("dirs").start().await;
    for action in [
        "read?path=%2Fetc%2Fpasswd",
        "list?path=%2F",
        "list?path=.",
        "write?path=%2Ftmp%2Fx",
    ] {
        let text = attempt(&server, action).await;
        assert!(text.starts_with("refused: "), "{action}: {text}");
    }
}

#[tokio::test]
async fn a_folder_granted_for_reading_allows_nothing_else() {
    let root = folder();
    let server = with_folder(&root, Access::Read).await;
    assert_eq!(
        attempt(&server, "read?path=%2Fdata%2Ffile").await,
        "ok: \"content\""
    );
    for action in [
        "read?path=%2Fdata%2F..%2Fsecret",
        "read?path=%2Fdata%2Flink",
        "read?path=%2Fdata%2Fabsolute-link",
        "read?path=%2Fetc%2Fpasswd",
        "read?path=..%2Fsecret",
        "write?path=%2Fdata%2Fnew",
        "write?path=%2Fdata%2Ffile",
        "delete?path=%2Fdata%2Ffile",
        "rename?path=%2Fdata%2Ffile&to=%2Fdata%2Fother",
        "link?path=%2Fdata%2Ffile&to=%2Fdata%2Fother",
        "symlink?path=..%2Fsecret&to=%2Fdata%2Fother",
    ] {
        let text = attempt(&server, action).await;
        assert!(text.starts_with("refused: "), "{action}: {text}");
    }
    let remaining: Vec<_> = std::fs::read_dir(root.path().join("inside"))
        .unwrap()
        .collect();
    assert_eq!(remaining.len(), 3, "{remaining:?}");
    assert_eq!(
        std::fs::read_to_string(root.path().join("inside/file")).unwrap(),
        "content"
    );
}

#[tokio::test]
async fn a_folder_granted_for_writing_cannot_be_left() {
    let root = folder();
    let server = with_folder(&root, Access::Write).await;
    assert_eq!(attempt(&server, "write?path=%2Fdata%2Fnew").await, "ok: ()");
    for action in [
        "write?path=%2Fdata%2F..%2Fsecret",
        "write?path=%2Fdata%2Flink",
        "write?path=%2Fdata%2Fabsolute-link",
        "rename?path=%2Fdata%2Ffile&to=%2Fdata%2F..%2Ffile",
        "link?path=%2Fdata%2F..%2Fsecret&to=%2Fdata%2Fstolen",
        "symlink?path=%2Fetc%2Fpasswd&to=%2Fdata%2Fpasswd",
    ] {
        let text = attempt(&server, action).await;
        assert!(text.starts_with("refused: "), "{action}: {text}");
    }
    assert_eq!(
        std::fs::read_to_string(root.path().join("secret")).unwrap(),
        "secret"
    );
}

/// The folders of two teams, `own` and `others`.
fn team_folders() -> (TempDir, PathBuf) {
    let root = TempDir::new().unwrap();
    let canonical = root.path().canonicalize().unwrap();
    for (team, text) in [("own", "ours"), ("others", "theirs")] {
        std::fs::create_dir_all(canonical.join(team).join("data")).unwrap();
        std::fs::write(canonical.join(team).join("data/file"), text).unwrap();
    }
    (root, canonical)
}

/// A ceiling that allows only the folder `own`.
fn own_only(canonical: &std::path::Path) -> Bounds {
    let host = canonical.join("own");
    Bounds {
        dirs: vec![Dir {
            host,
            guest: String::new(),
            access: Access::Write,
            is_canonical: true,
        }],
        ..Bounds::default()
    }
}

fn replace_with_link(canonical: &std::path::Path) {
    std::fs::rename(canonical.join("own/data"), canonical.join("own/old")).unwrap();
    std::os::unix::fs::symlink("../others/data", canonical.join("own/data")).unwrap();
}

#[tokio::test]
async fn a_link_that_replaces_a_granted_folder_is_not_followed() {
    let (_root, canonical) = team_folders();
    let host = canonical.join("own/data");
    let granted = TestServer::builder("dirs")
        .ceiling(own_only(&canonical))
        .provider("dirs", |grant, _| {
            grant.dirs.push(Dir {
                host: host.clone(),
                guest: "/data".into(),
                access: Access::Read,
                is_canonical: false,
            });
        });
    let request = format!("dirs = [{host:?}]");
    let requested = TestServer::builder("dirs")
        .file("dirs.toml", request.as_bytes())
        .approve("dirs", ApprovalMode::Always);
    // The next reconcile pass would find the link. Until then, the provider is served with the checked grant.
    let servers = [granted.start().await, requested.start().await];
    for server in &servers {
        assert_eq!(
            attempt(server, "read?path=%2Fdata%2Ffile").await,
            "ok: \"ours\""
        );
    }
    replace_with_link(&canonical);
    for server in &servers {
        let text = attempt(server, "read?path=%2Fdata%2Ffile").await;
        assert!(text.contains("a granted folder cannot be opened"), "{text}");
    }
    std::fs::remove_file(canonical.join("own/data")).unwrap();
    std::fs::rename(canonical.join("own/old"), canonical.join("own/data")).unwrap();
    for server in &servers {
        assert_eq!(
            attempt(server, "read?path=%2Fdata%2Ffile").await,
            "ok: \"ours\""
        );
    }
}

#[tokio::test]
async fn a_writer_cannot_replace_a_granted_subfolder_with_a_link() {
    let (_root, canonical) = team_folders();
    let dir = |host: &str, access| {
        let guest = format!("/{host}").replace("/own/", "/");
        Dir {
            host: canonical.join(host),
            guest,
            access,
            is_canonical: false,
        }
    };
    let plan = TestServer::builder("dirs")
        .ceiling(own_only(&canonical))
        .provider("dirs", |grant, _| {
            grant
                .dirs
                .extend([dir("own", Access::Write), dir("own/data", Access::Read)]);
        });
    let mut server = plan.start().await;
    assert_eq!(
        attempt(&server, "read?path=%2Fdata%2Ffile").await,
        "ok: \"ours\""
    );
    assert_eq!(
        attempt(&server, "swap?path=..%2Fothers%2Fdata&to=%2Fown%2Fdata").await,
        "ok: ()"
    );
    let text = attempt(&server, "read?path=%2Fdata%2Ffile").await;
    assert!(text.contains("a granted folder cannot be opened"), "{text}");
    // The next pass revokes the grant.
    server.reconciler().run_pass().await;
    let text = attempt(&server, "read?path=%2Fdata%2Ffile").await;
    assert!(text.starts_with("refused: "), "{text}");
    assert_eq!(
        attempt(&server, "read?path=%2Fown%2Fdata.old%2Ffile").await,
        "ok: \"ours\""
    );
}

#[tokio::test]
async fn calls_that_block_in_a_folder_do_not_block_others() {
    let root = folder();
    let inside = root.path().join("inside");
    let _pipe = Pipe::at(inside.join("pipe"));
    let dir = || Dir {
        host: inside.clone(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    let plan = TestServer::builder("dirs").provider("dirs", |grant, _| {
        grant.dirs.push(dir());
        grant.limits.timeout = Duration::from_millis(100);
        grant.limits.concurrency = 64;
    });
    let plan = plan.file(
        "files.wasm",
        &std::fs::read(component_path("files")).unwrap(),
    );
    let server = plan
        .provider("files", |grant, _| grant.dirs.push(dir()))
        .start()
        .await;
    // More calls than there are blocking threads: without a limit, each call would block one thread.
    let stuck = (0..700).map(|_| server.read("dirs://read?path=%2Fdata%2Fpipe"));
    let answers: Vec<_> = futures_util::stream::iter(stuck)
        .buffer_unordered(64)
        .collect()
        .await;
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(server.text("file:///data/file").await, "content");
    // The server itself still has threads with which it can scan folders.
    let blocking_task =
        tokio::time::timeout(Duration::from_secs(30), server.drain.spawn_blocking(|| ()));
    blocking_task
        .await
        .expect("no thread is left for the server")
        .unwrap();
}

/// A named pipe without a writer: opening it blocks. On drop, it gets a writer, so that all openers continue.
struct Pipe(PathBuf);

impl Pipe {
    fn at(path: PathBuf) -> Self {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        Self(path)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        use rustix::fs::{Mode, OFlags, open};
        // The descriptor stays open, because another thread may be about to open the other end.
        std::mem::forget(open(
            &self.0,
            OFlags::RDWR | OFlags::NONBLOCK,
            Mode::empty(),
        ));
    }
}

#[tokio::test]
async fn sockets_need_a_grant() {
    let server = TestServer::builder("net").start().await;
    for uri in [
        "net://connect/127.0.0.1%3A9",
        "net://listen/127.0.0.1%3A0",
        "net://udp/127.0.0.1%3A0",
        "net://resolve/localhost",
    ] {
        let text = server.text(uri).await;
        assert!(text.starts_with("refused: "), "{uri}: {text}");
    }
}

/// Starts an HTTP server that counts its requests, and returns its port and the counter.
fn http_server() -> (u16, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counter = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..read]);
            let answer = match text.split(' ').nth(1) {
                Some("/redirect") => format!(
                    "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{port}/\r\ncontent-length: 5\r\nconnection: close\r\n\r\nmoved"
                ),
                Some("/large") => {
                    let body = "x".repeat(100_000);
                    format!(
                        "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\nconnection: close\r\n\r\n{body}"
                    )
                }
                _ => "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"
                    .to_owned(),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, count)
}

fn rule(host: &str, port: u16) -> HostRule {
    HostRule {
        scheme: Some("http".into()),
        host: host.into(),
        port: Some(port),
        methods: None,
        private: false,
        auth: None,
    }
}

async fn with_hosts(hosts: Vec<HostRule>) -> TestServer {
    let plan = TestServer::builder("net").provider("net", |grant, _| {
        grant.hosts = hosts;
        grant.limits.http_body = 10_000;
    });
    plan.start().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn granted_hosts_are_reachable_with_both_interfaces() {
    let (port, count) = http_server();
    let server = with_hosts(vec![rule("127.0.0.1", port)]).await;
    for interface in ["http-client", "wasi-http"] {
        let text = server
            .text(&format!("net://{interface}/http://127.0.0.1:{port}/"))
            .await;
        assert_eq!(text, "ok: (200, \"hello\")", "{interface}");
        // The host does not follow redirects. The guest gets the redirects.
        let text = server
            .text(&format!(
                "net://{interface}/http://127.0.0.1:{port}/redirect"
            ))
            .await;
        assert_eq!(text, "ok: (302, \"moved\")", "{interface}");
        let text = server
            .text(&format!("net://{interface}/http://127.0.0.1:{port}/large"))
            .await;
        assert!(text.starts_with("refused: "), "{interface}: {text}");
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_hosts_are_not_reachable() {
    let (port, count) = http_server();
    let nothing = with_hosts(vec![]).await;
    let by_name = with_hosts(vec![rule("localhost", port)]).await;
    let elsewhere = with_hosts(vec![rule("api.example.com", port), rule("*.0.0.1", port)]).await;
    for interface in ["http-client", "wasi-http"] {
        let address = format!("net://{interface}/http://127.0.0.1:{port}/");
        let name = format!("net://{interface}/http://localhost:{port}/");
        let user = format!("net://{interface}/http://api.example.com@127.0.0.1:{port}/");
        for (server, uri) in [
            (&nothing, &address),
            (&nothing, &name),
            // The name is granted, but it resolves to a private address.
            (&by_name, &name),
            (&by_name, &address),
            (&elsewhere, &address),
            (&elsewhere, &user),
        ] {
            let text = server.text(uri).await;
            assert!(text.starts_with("refused: "), "{uri}: {text}");
        }
        let method = nothing
            .text(&format!(
                "net://{interface}?url=http%3A%2F%2F127.0.0.1%3A{port}%2F&method=DELETE"
            ))
            .await;
        assert!(method.starts_with("refused: "), "{method}");
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 0);
    let text = by_name
        .text(&format!("net://http-client/http://localhost:{port}/"))
        .await;
    assert!(
        text.contains("an address inside this network") && text.contains("private = true"),
        "{text}"
    );

    // `private` applies only to the port of its own rule.
    let other = HostRule {
        private: true,
        ..rule("localhost", 9)
    };
    let two_rules = with_hosts(vec![other, rule("localhost", port)]).await;
    let text = two_rules
        .text(&format!("net://http-client/http://localhost:{port}/"))
        .await;
    assert!(text.contains("an address inside this network"), "{text}");

    let private = with_hosts(vec![HostRule {
        private: true,
        ..rule("localhost", port)
    }])
    .await;
    let text = private
        .text(&format!("net://http-client/http://localhost:{port}/"))
        .await;
    assert_eq!(text, "ok: (200, \"hello\")");
}
