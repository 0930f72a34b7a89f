//! Nothing is granted by default; what is granted is that and no more.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt as _;
use larder_model::policy::{Access, ApprovalMode, Bounds, Dir, HostRule};
use tempfile::TempDir;

use crate::house::{House, Plan, component};

#[tokio::test]
async fn settings_reach_their_provider_only() {
    let house =
        Plan::of("echo").setting("echo", "colour", "blue").setting("other", "secret", "x").open().await;
    assert_eq!(house.text("echo://setting/colour").await, "blue");
    assert_eq!(house.text("echo://setting/secret").await, "unset");
}

#[tokio::test]
async fn there_is_no_input_and_no_environment() {
    let house = Plan::of("stdin env").open().await;
    assert_eq!(house.text("stdin://all").await, "ok: \"\"");
    let uri = house.uris().await.into_iter().find(|uri| uri.starts_with("env:")).unwrap();
    let all = house.text(&uri).await;
    assert!(!all.contains("PATH") && !all.contains("CARGO"), "{all}");

    let granted = Plan::of("env").terms("env", |grant, _| {
        grant.env.insert("COLOUR".into(), "blue".into());
    });
    let all = granted.open().await.text(&uri).await;
    assert!(all.contains("COLOUR") && all.contains("blue") && !all.contains("PATH"), "{all}");
}

/// A folder with a file, beside a secret, and links out of it.
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

async fn with_folder(root: &TempDir, access: Access) -> House {
    let host = root.path().join("inside");
    let plan = Plan::of("dirs").terms("dirs", |grant, _| {
        grant.dirs.push(Dir { host, guest: "/data".into(), access, is_canonical: false });
    });
    plan.open().await
}

async fn tries(house: &House, action: &str) -> String {
    house.text(&format!("dirs://{action}")).await
}

#[tokio::test]
async fn no_folder_is_open_by_default() {
    let house = Plan::of("dirs").open().await;
    for action in ["read?path=%2Fetc%2Fpasswd", "list?path=%2F", "list?path=.", "write?path=%2Ftmp%2Fx"] {
        let told = tries(&house, action).await;
        assert!(told.starts_with("refused: "), "{action}: {told}");
    }
}

#[tokio::test]
async fn a_folder_to_read_is_that_and_no_more() {
    let root = folder();
    let house = with_folder(&root, Access::Read).await;
    assert_eq!(tries(&house, "read?path=%2Fdata%2Ffile").await, "ok: \"content\"");
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
        let told = tries(&house, action).await;
        assert!(told.starts_with("refused: "), "{action}: {told}");
    }
    let left: Vec<_> = std::fs::read_dir(root.path().join("inside")).unwrap().collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(std::fs::read_to_string(root.path().join("inside/file")).unwrap(), "content");
}

#[tokio::test]
async fn a_folder_to_write_is_still_no_way_out() {
    let root = folder();
    let house = with_folder(&root, Access::Write).await;
    assert_eq!(tries(&house, "write?path=%2Fdata%2Fnew").await, "ok: ()");
    for action in [
        "write?path=%2Fdata%2F..%2Fsecret",
        "write?path=%2Fdata%2Flink",
        "write?path=%2Fdata%2Fabsolute-link",
        "rename?path=%2Fdata%2Ffile&to=%2Fdata%2F..%2Ffile",
        "link?path=%2Fdata%2F..%2Fsecret&to=%2Fdata%2Fstolen",
        "symlink?path=%2Fetc%2Fpasswd&to=%2Fdata%2Fpasswd",
    ] {
        let told = tries(&house, action).await;
        assert!(told.starts_with("refused: "), "{action}: {told}");
    }
    assert_eq!(std::fs::read_to_string(root.path().join("secret")).unwrap(), "secret");
}

/// Two teams' folders, side by side.
fn neighbours() -> (TempDir, PathBuf) {
    let root = TempDir::new().unwrap();
    let real = root.path().canonicalize().unwrap();
    for (team, text) in [("own", "ours"), ("others", "theirs")] {
        std::fs::create_dir_all(real.join(team).join("data")).unwrap();
        std::fs::write(real.join(team).join("data/file"), text).unwrap();
    }
    (root, real)
}

/// Below a ceiling of the folder of one of them.
fn own_only(real: &std::path::Path) -> Bounds {
    let host = real.join("own");
    Bounds {
        dirs: vec![Dir { host, guest: String::new(), access: Access::Write, is_canonical: true }],
        ..Bounds::default()
    }
}

fn swap(real: &std::path::Path) {
    std::fs::rename(real.join("own/data"), real.join("own/old")).unwrap();
    std::os::unix::fs::symlink("../others/data", real.join("own/data")).unwrap();
}

#[tokio::test]
async fn a_link_in_the_place_of_a_granted_folder_is_not_followed() {
    let (_root, real) = neighbours();
    let host = real.join("own/data");
    let granted = Plan::of("dirs").ceiling(own_only(&real)).terms("dirs", |grant, _| {
        grant.dirs.push(Dir {
            host: host.clone(),
            guest: "/data".into(),
            access: Access::Read,
            is_canonical: false,
        });
    });
    let asked = format!("dirs = [{host:?}]");
    let asked = Plan::of("dirs").file("dirs.toml", asked.as_bytes()).approve("dirs", ApprovalMode::Always);
    // Each look would see it; what is served until then is what was looked at.
    let houses = [granted.open().await, asked.open().await];
    for house in &houses {
        assert_eq!(tries(house, "read?path=%2Fdata%2Ffile").await, "ok: \"ours\"");
    }
    swap(&real);
    for house in &houses {
        let told = tries(house, "read?path=%2Fdata%2Ffile").await;
        assert!(told.contains("a granted folder cannot be opened"), "{told}");
    }
    std::fs::remove_file(real.join("own/data")).unwrap();
    std::fs::rename(real.join("own/old"), real.join("own/data")).unwrap();
    for house in &houses {
        assert_eq!(tries(house, "read?path=%2Fdata%2Ffile").await, "ok: \"ours\"");
    }
}

#[tokio::test]
async fn who_may_write_around_a_granted_folder_cannot_make_it_another() {
    let (_root, real) = neighbours();
    let dir = |host: &str, access| {
        let guest = format!("/{host}").replace("/own/", "/");
        Dir { host: real.join(host), guest, access, is_canonical: false }
    };
    let plan = Plan::of("dirs").ceiling(own_only(&real)).terms("dirs", |grant, _| {
        grant.dirs.extend([dir("own", Access::Write), dir("own/data", Access::Read)]);
    });
    let mut house = plan.open().await;
    assert_eq!(tries(&house, "read?path=%2Fdata%2Ffile").await, "ok: \"ours\"");
    assert_eq!(tries(&house, "swap?path=..%2Fothers%2Fdata&to=%2Fown%2Fdata").await, "ok: ()");
    let told = tries(&house, "read?path=%2Fdata%2Ffile").await;
    assert!(told.contains("a granted folder cannot be opened"), "{told}");
    // And the next look takes the grant away.
    house.reconcile().run_pass().await;
    let told = tries(&house, "read?path=%2Fdata%2Ffile").await;
    assert!(told.starts_with("refused: "), "{told}");
    assert_eq!(tries(&house, "read?path=%2Fown%2Fdata.old%2Ffile").await, "ok: \"ours\"");
}

#[tokio::test]
async fn who_waits_for_ever_in_his_folder_waits_alone() {
    let root = folder();
    let inside = root.path().join("inside");
    let _pipe = Pipe::at(inside.join("pipe"));
    let dir =
        || Dir { host: inside.clone(), guest: "/data".into(), access: Access::Read, is_canonical: false };
    let plan = Plan::of("dirs").terms("dirs", |grant, _| {
        grant.dirs.push(dir());
        grant.limits.timeout = Duration::from_millis(100);
        grant.limits.concurrency = 64;
    });
    let plan = plan.file("files.wasm", &std::fs::read(component("files")).unwrap());
    let house = plan.terms("files", |grant, _| grant.dirs.push(dir())).open().await;
    // More often than there are threads for all: one is lost to each of them, if they are not bounded.
    let stuck = (0..700).map(|_| house.read("dirs://read?path=%2Fdata%2Fpipe"));
    let answers: Vec<_> = futures_util::stream::iter(stuck).buffer_unordered(64).collect().await;
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(house.text("file:///data/file").await, "content");
    // The house itself still has threads to look at folders with.
    let looked = tokio::time::timeout(Duration::from_secs(30), house.drain.spawn_blocking(|| ()));
    looked.await.expect("no thread is left for the house").unwrap();
}

/// A pipe that nobody writes to: whoever opens it waits. With somebody at the other end, in the end, all come back.
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
        // It stays open: somebody may be about to open his end.
        std::mem::forget(open(&self.0, OFlags::RDWR | OFlags::NONBLOCK, Mode::empty()));
    }
}

#[tokio::test]
async fn sockets_are_never_open() {
    let house = Plan::of("net").open().await;
    for uri in [
        "net://connect/127.0.0.1%3A9",
        "net://listen/127.0.0.1%3A0",
        "net://udp/127.0.0.1%3A0",
        "net://resolve/localhost",
    ] {
        let told = house.text(uri).await;
        assert!(told.starts_with("refused: "), "{uri}: {told}");
    }
}

/// A server that answers everything with a redirect or with `hello`, and counts.
fn server() -> (u16, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
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
                    format!("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\nconnection: close\r\n\r\n{body}")
                }
                _ => "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello".to_owned(),
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
    }
}

async fn with_hosts(hosts: Vec<HostRule>) -> House {
    let plan = Plan::of("net").terms("net", |grant, _| {
        grant.hosts = hosts;
        grant.limits.http_body = 10_000;
    });
    plan.open().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_goes_where_it_is_granted_by_both_ways() {
    let (port, count) = server();
    let house = with_hosts(vec![rule("127.0.0.1", port)]).await;
    for way in ["http-client", "wasi-http"] {
        let told = house.text(&format!("net://{way}/http://127.0.0.1:{port}/")).await;
        assert_eq!(told, "ok: (200, \"hello\")", "{way}");
        // The guest sees the redirect, and would have to ask again.
        let told = house.text(&format!("net://{way}/http://127.0.0.1:{port}/redirect")).await;
        assert_eq!(told, "ok: (302, \"moved\")", "{way}");
        let told = house.text(&format!("net://{way}/http://127.0.0.1:{port}/large")).await;
        assert!(told.starts_with("refused: "), "{way}: {told}");
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_goes_nowhere_else() {
    let (port, count) = server();
    let nothing = with_hosts(vec![]).await;
    let by_name = with_hosts(vec![rule("localhost", port)]).await;
    let elsewhere = with_hosts(vec![rule("api.example.com", port), rule("*.0.0.1", port)]).await;
    for way in ["http-client", "wasi-http"] {
        let address = format!("net://{way}/http://127.0.0.1:{port}/");
        let name = format!("net://{way}/http://localhost:{port}/");
        let user = format!("net://{way}/http://api.example.com@127.0.0.1:{port}/");
        for (house, uri) in [
            (&nothing, &address),
            (&nothing, &name),
            // The name is granted; the address that it stands for is inside.
            (&by_name, &name),
            (&by_name, &address),
            (&elsewhere, &address),
            (&elsewhere, &user),
        ] {
            let told = house.text(uri).await;
            assert!(told.starts_with("refused: "), "{uri}: {told}");
        }
        let method =
            nothing.text(&format!("net://{way}?url=http%3A%2F%2F127.0.0.1%3A{port}%2F&method=DELETE")).await;
        assert!(method.starts_with("refused: "), "{method}");
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 0);
    let told = by_name.text(&format!("net://http-client/http://localhost:{port}/")).await;
    assert!(told.contains("an address inside this network") && told.contains("private = true"), "{told}");

    // Another rule for the same name opens its own port only.
    let other = HostRule { private: true, ..rule("localhost", 9) };
    let beside = with_hosts(vec![other, rule("localhost", port)]).await;
    let told = beside.text(&format!("net://http-client/http://localhost:{port}/")).await;
    assert!(told.contains("an address inside this network"), "{told}");

    let private = with_hosts(vec![HostRule { private: true, ..rule("localhost", port) }]).await;
    let told = private.text(&format!("net://http-client/http://localhost:{port}/")).await;
    assert_eq!(told, "ok: (200, \"hello\")");
}
