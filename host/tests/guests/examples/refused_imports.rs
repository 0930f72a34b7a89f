//! Imports versions of proposals that the host does not offer, and calls them as the URI says.

use guests::*;

wit_bindgen::generate!({
    inline: r#"
        package guests:refused;

        world needs {
            import wasi:logging/logging@0.9.0-draft;
            import wasi:config/store@0.9.0;
            import wasi:keyvalue/store@0.9.0;
            import wasi:otel/tracing@0.9.0;
        }

        package wasi:logging@0.9.0-draft {
            interface logging {
                log: func(message: string);
            }
        }

        package wasi:config@0.9.0 {
            interface store {
                enum problem { missing, broken }
                get: func(key: string) -> result<option<string>, problem>;
            }
        }

        package wasi:keyvalue@0.9.0 {
            interface store {
                variant error { no-such-store, other(string) }
                resource bucket {
                    get: func(key: string) -> result<option<list<u8>>, error>;
                }
                open: func(identifier: string) -> result<bucket, error>;
            }
        }

        package wasi:otel@0.9.0 {
            interface tracing {
                parent: func() -> string;
            }
        }
    "#,
    generate_all,
});

struct Refused;

impl Behaviour for Refused {
    fn templates() -> Vec<&'static str> {
        vec!["refused://{what}"]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        match value(&request, "what") {
            "logging" => {
                wasi::logging::logging::log("a line");
                text("logged")
            }
            "config" => text(format!("{:?}", wasi::config::store::get("a"))),
            "keyvalue" => {
                let opened = wasi::keyvalue::store::open("");
                text(match opened {
                    Ok(bucket) => format!("{:?}", bucket.get("a")),
                    Err(error) => format!("{error:?}"),
                })
            }
            "otel" => text(wasi::otel::tracing::parent()),
            _ => text("loaded"),
        }
    }
}

guests::export!(Refused);
