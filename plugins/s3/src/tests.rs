//! Tests with a store that answers in this process. A real store is used by `tests/session.py`.

use std::cell::RefCell;
use std::rc::Rc;

use larder_provider::http::{Response, set_responder};
use larder_provider::{Body, Error, Provider as _, Query, Request, SearchQuery, set_setting};

use crate::Store;

const KEYS: [(&str, &str); 4] = [
    ("docs/a b.md", "1"),
    ("docs/deep/plan.md", "2"),
    ("docs/deep/", "3"),
    ("logo.png", "4"),
];

fn store(respond: impl Fn(&str) -> Response + 'static) -> (Store, Rc<RefCell<Vec<String>>>) {
    let urls = Rc::new(RefCell::new(Vec::new()));
    let seen = urls.clone();
    set_responder(move |request| {
        seen.borrow_mut().push(request.url.clone());
        Ok(respond(&request.url))
    });
    for (name, value) in [
        ("endpoint", "https://store.example"),
        ("bucket", "team"),
        ("access_key_id", "AKID"),
        ("secret_access_key", "hush"),
    ] {
        set_setting(name, value);
    }
    (Store::new().unwrap(), urls)
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Response {
        status,
        headers: headers.collect(),
        body: body.into(),
    }
}

/// A list of all keys, in the form in which a store returns it.
fn listed(is_truncated: bool) -> Response {
    list_of(&KEYS, &[], is_truncated)
}

fn list_of(keys: &[(&str, &str)], folders: &[&str], is_truncated: bool) -> Response {
    let folders: String = folders
        .iter()
        .map(|folder| format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"))
        .collect();
    let contents: String = keys
        .iter()
        .map(|(key, tag)| {
            let key = key.replace(' ', "+");
            format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified>\
                 <ETag>&quot;{tag}&quot;</ETag><Size>7</Size></Contents>"
            )
        })
        .collect();
    let next = if is_truncated {
        "<NextContinuationToken>t</NextContinuationToken>"
    } else {
        ""
    };
    let xml = format!(
        "<ListBucketResult xmlns=\"http://doc.s3.amazonaws.com/2006-03-01/\"><IsTruncated>{is_truncated}\
         </IsTruncated><EncodingType>url</EncodingType>{next}{contents}{folders}</ListBucketResult>"
    );
    response(200, &[("content-type", "application/xml")], &xml)
}

#[test]
fn objects_are_entries_and_pages_continue_after_the_last_key() {
    let (store, urls) = store(|_| listed(true));
    let page = store
        .list(&Query {
            cursor: Some("a".into()),
            ..Query::new(4)
        })
        .unwrap();
    let entries: Vec<_> = page
        .entries
        .iter()
        .map(|entry| (entry.uri.as_str(), entry.version.as_deref()))
        .collect();
    let version = |tag: &'static str| Some(tag);
    assert_eq!(
        entries,
        [
            ("s3://team/docs/a%20b.md", version("etag:\"1\"")),
            ("s3://team/docs/deep/plan.md", version("etag:\"2\"")),
            ("s3://team/logo.png", version("etag:\"4\"")),
        ]
    );
    assert_eq!(page.next_cursor.as_deref(), Some("logo.png"));
    let url = urls.borrow()[0].clone();
    assert!(
        url.starts_with("https://store.example/team/?") && url.contains("start-after=a&"),
        "{url}"
    );
    assert!(
        url.contains("X-Amz-Signature=") && !url.contains("hush"),
        "{url}"
    );
}

#[test]
fn a_read_returns_the_object_with_its_version() {
    let (store, _) = store(|url| {
        assert!(
            url.starts_with("https://store.example/team/docs/a%20b.md?"),
            "{url}"
        );
        response(
            200,
            &[("etag", "\"1\""), ("content-type", "binary/octet-stream")],
            "# A",
        )
    });
    let request = Request::new("s3://team/docs/a%20b.md");
    let reading = store.read(&request).unwrap();
    assert_eq!(reading.version.as_deref(), Some("etag:\"1\""));
    let content = &reading.contents[0];
    assert_eq!(
        (content.mime_type.as_deref(), &content.body),
        (Some("text/markdown"), &Body::Text("# A".into()))
    );
    let known = Request {
        known_version: Some("etag:\"1\"".into()),
        ..request
    };
    assert_eq!(store.read(&known).unwrap_err(), Error::NotModified);
}

#[test]
fn errors_of_the_store_are_errors_of_the_provider() {
    let (store, _) = store(|url| match url {
        url if url.contains("secret") => {
            response(403, &[], "<Error><Code>AccessDenied</Code></Error>")
        }
        url if url.contains("list-type") => response(200, &[], "<html>"),
        _ => response(404, &[], "<Error><Code>NoSuchKey</Code></Error>"),
    });
    assert_eq!(
        store.read(&Request::new("s3://team/none")).unwrap_err(),
        Error::NotFound
    );
    assert_eq!(
        store.read(&Request::new("s3://other/none")).unwrap_err(),
        Error::NotFound
    );
    let denied = store
        .read(&Request::new("s3://team/secret"))
        .unwrap_err()
        .to_string();
    assert!(
        denied.contains("secret_access_key") && denied.contains("s3:GetObject"),
        "{denied}"
    );
    let invalid = store.list(&Query::new(10)).unwrap_err().to_string();
    assert_eq!(invalid, "the store returned a list that is not valid");
}

#[test]
fn names_are_searched() {
    let (store, _) = store(|_| listed(false));
    let search = |text: &str| {
        let hits = store.search(&SearchQuery::new(text, 10)).unwrap().hits;
        hits.into_iter()
            .map(|hit| hit.entry.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(search("PLAN docs"), ["plan.md"]);
    assert_eq!(search("md"), ["a b.md", "plan.md"]);
    assert!(search("none").is_empty() && search(" ").is_empty());
}

#[test]
fn a_large_folder_does_not_hide_others() {
    let (store, urls) = store(|url| {
        let is_after = |key: &str| url.contains(&format!("start-after={key}"));
        let next = |key: &str| list_of(&[(key, "1")], &[], true);
        match url {
            _ if url.contains("delimiter=") => {
                list_of(&[("plan.txt", "1")], &["big/", "plans/"], false)
            }
            _ if url.contains("prefix=plans") => list_of(&[("plans/1.md", "1")], &[], false),
            // Keys of the large folder, until a request fails.
            _ if is_after("big%2Fplan4") => response(503, &[], ""),
            _ if is_after("big%2Fplan3") => next("big/plan4"),
            _ if is_after("big%2Fplan2") => next("big/plan3"),
            _ if is_after("big%2Fplan1") => next("big/plan2"),
            _ => next("big/plan1"),
        }
    });
    let hits = store.search(&SearchQuery::new("plan", 10)).unwrap().hits;
    let found: Vec<_> = hits
        .iter()
        .map(|hit| hit.entry.uri.replace("s3://team/", ""))
        .collect();
    let expected = [
        "big/plan1",
        "big/plan2",
        "big/plan3",
        "big/plan4",
        "plan.txt",
        "plans/1.md",
    ];
    assert_eq!(found, expected, "{urls:?}");
    let metadata = &hits
        .last()
        .unwrap()
        .entry
        .details
        .as_ref()
        .unwrap()
        .metadata;
    assert!(
        metadata
            .iter()
            .any(|(key, _)| key == "dev.larder.search/incomplete"),
        "{metadata:?}"
    );
    // Three pages of the bucket, the objects beside its folders, and each folder after the last position.
    assert_eq!(urls.borrow().len(), 7, "{urls:?}");
}

#[test]
fn settings_that_are_wrong_are_errors() {
    let (_, _) = store(|_| listed(false));
    for (name, value, expected) in [
        (
            "bucket",
            "a/../b",
            "the setting `bucket` is not the name of a bucket",
        ),
        (
            "endpoint",
            "ftp://x",
            "the setting `endpoint` must begin with https:// or http://",
        ),
        (
            "secret_access_key",
            "",
            "the settings `access_key_id` and `secret_access_key` belong together",
        ),
    ] {
        let (_, _) = store(|_| listed(false));
        set_setting(name, value);
        let error = Store::new()
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(error.starts_with(expected), "{error}");
    }
}
