//! Tests of requests for grants.

use std::time::Duration;

use super::*;
use crate::policy::{AppPermission, AppRight, CredentialPlacement, FunctionResource, HostAuth};

fn dir(host: &str, guest: &str) -> Dir {
    Dir {
        host: host.into(),
        guest: guest.into(),
        access: Access::Read,
        is_canonical: true,
    }
}

fn rule(host: &str, methods: Option<&[&str]>) -> HostRule {
    let methods = methods.map(|some| some.iter().map(|&method| method.to_owned()).collect());
    HostRule {
        scheme: None,
        host: host.into(),
        port: None,
        methods,
        private: false,
        auth: None,
    }
}

fn request() -> GrantRequest {
    GrantRequest {
        settings: [("space", "ENG"), ("depth", "3")]
            .map(|(k, v)| (k.into(), v.into()))
            .into(),
        dirs: vec![
            dir("/srv/docs", "/docs"),
            Dir {
                access: Access::Write,
                ..dir("/srv/a b", "/cache")
            },
        ],
        hosts: vec![
            rule("api.example.com", None),
            HostRule {
                port: Some(8443),
                private: true,
                ..rule("*.example.org", Some(&[]))
            },
            HostRule {
                scheme: Some("http".into()),
                ..rule("x.example", Some(&["POST", "GET"]))
            },
            HostRule {
                auth: Some(HostAuth {
                    secret: "key".into(),
                    placement: CredentialPlacement::Basic { user: "a b".into() },
                    certificate: None,
                    plain_http: true,
                }),
                ..rule("y.example", None)
            },
        ],
        env: [
            ("HOME".to_owned(), Some("/home/me".to_owned())),
            ("GONE".to_owned(), None),
        ]
        .into(),
        secrets: [("token".to_owned(), Some(Secret::new("hush-hush")))].into(),
        tcp: vec![
            TcpRule {
                host: "db.internal".into(),
                port: 5432,
                private: false,
            },
            TcpRule {
                host: "10.0.0.5".into(),
                port: 6379,
                private: true,
            },
        ],
        key_value: KeyValueGrant {
            shared: true,
            caller: true,
        },
        tools: ToolGrant::Names([String::from("b"), String::from("a")].into()),
        prompts: true,
        skills: true,
        apps: AppGrant::new([AppRight::Permission(AppPermission::Microphone)]),
        functions: functions("get-weather"),
    }
}

/// A function that is read as a resource.
fn functions(function: &str) -> FunctionSettings {
    let resource = FunctionResource {
        function: function.into(),
        mime_type: None,
        ttl: Duration::ZERO,
    };
    FunctionSettings {
        resources: [("weather://{city}".to_owned(), resource)].into(),
        ..FunctionSettings::default()
    }
}

#[test]
fn each_request_is_one_line() {
    let expected = [
        "app uses the microphone",
        "folder \"/srv/a b\" as /cache, write",
        "folder /srv/docs as /docs, read",
        "http http://x.example GET,POST",
        "http https://*.example.org:8443 *, private",
        "http https://api.example.com GET,HEAD",
        "http https://y.example GET,HEAD, basic \"a b\" with secret key, plain http",
        "key-value caller",
        "key-value shared",
        "prompts",
        "resource \"weather://{city}\" from get-weather",
        "secret token",
        "skills",
        "tcp 10.0.0.5:6379, private",
        "tcp db.internal:5432",
        "tool \"a\"",
        "tool \"b\"",
        "variable GONE",
        "variable HOME",
    ];
    assert_eq!(request().lines().into_iter().collect::<Vec<_>>(), expected);
    let everything = request().merged_into(&Grant::default());
    assert!(grant_lines(&everything).is_subset(&request().lines()));
    assert_eq!(
        request()
            .lines_beyond(&everything)
            .into_iter()
            .collect::<Vec<_>>(),
        ["variable GONE"]
    );
}

#[test]
fn lines_are_unambiguous() {
    let tricky = dir_line(&dir("/a as /b", "/c"));
    assert_ne!(tricky, dir_line(&dir("/a", "/b as /c")));
    assert_eq!(dir_line(&dir("/a\nvariable HOME", "/")).lines().count(), 1);
    assert!(!dir_line(&dir("/a\u{202e}b", "/")).contains('\u{202e}'));
}

#[test]
fn the_operators_grant_has_precedence() {
    let operator = Grant {
        settings: [("space".to_owned(), "OPS".to_owned())].into(),
        env: [("HOME".to_owned(), "/nowhere".to_owned())].into(),
        dirs: vec![dir("/other", "/docs")],
        hosts: vec![rule("*.example.com", None)],
        functions: functions("get-other"),
        ..Grant::default()
    };
    let lines = request().lines_beyond(&operator);
    assert_eq!(
        lines
            .iter()
            .filter(|line| ["example.com", "/docs", "weather:"]
                .iter()
                .any(|it| line.contains(it)))
            .count(),
        0
    );
    let grant = request().merged_into(&operator);
    assert_eq!(
        (&*grant.settings["space"], &*grant.settings["depth"]),
        ("OPS", "3")
    );
    assert_eq!((&*grant.env["HOME"], grant.env.len()), ("/nowhere", 1));
    let docs: Vec<_> = grant
        .dirs
        .iter()
        .map(|dir| dir.host.to_str().unwrap())
        .collect();
    assert_eq!(docs, ["/other", "/srv/a b"]);
    assert_eq!(grant.hosts.len(), 4);
    assert_eq!(grant.limits, operator.limits);
    assert_eq!(grant.functions, functions("get-other"));
}

#[test]
fn reports_imports_that_no_grant_covers() {
    let imports = [
        "larder:provider/http-client@0.1.0",
        "wasi:http/types@0.2.6",
        "wasi:http/outgoing-handler@0.2.6",
        "wasi:filesystem/preopens@0.2.6",
        "wasi:sockets/tcp@0.2.6",
        "wasi:cli/environment@0.2.6",
    ]
    .map(ToOwned::to_owned);
    let shown = |grant: &Grant| {
        ungranted_imports(&imports, grant)
            .into_iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        shown(&Grant::default()),
        [
            "import larder:provider/http-client",
            "import wasi:filesystem/preopens",
            "import wasi:http"
        ]
    );
    let hosts = Grant {
        hosts: vec![rule("x.example", None)],
        ..Grant::default()
    };
    assert_eq!(shown(&hosts), ["import wasi:filesystem/preopens"]);
    let all = Grant {
        dirs: vec![dir("/a", "/a")],
        ..hosts
    };
    assert!(shown(&all).is_empty());
}

#[test]
fn a_rule_includes_narrower_rules() {
    let wide = rule("*.example.com", Some(&["GET", "HEAD", "POST"]));
    for narrow in [
        rule("a.example.com", None),
        rule("*.b.example.com", None),
        wide.clone(),
    ] {
        assert!(wide.includes(&narrow), "{narrow:?}");
    }
    let plain = rule("a.example.com", None);
    for wider in [
        rule("example.com", None),
        rule("*.com", None),
        rule("a.example.com", Some(&[])),
        rule("a.example.com", Some(&["DELETE"])),
        HostRule {
            private: true,
            ..plain.clone()
        },
        HostRule {
            port: Some(80),
            ..plain.clone()
        },
        HostRule {
            scheme: Some("http".into()),
            ..plain.clone()
        },
    ] {
        assert!(!wide.includes(&wider), "{wider:?}");
    }
    assert!(!plain.includes(&rule("*.a.example.com", None)));
    assert!(plain.includes(&HostRule {
        scheme: Some("https".into()),
        port: Some(443),
        ..plain.clone()
    }));
}
