//! Bindings of the proposals of WASI, with the functions that their specifications declare.

wit_bindgen::generate!({
    inline: r#"
        package guests:proposals;

        world needs {
            import wasi:config/store@0.2.0-rc.1;
            import wasi:config/store@0.2.0-draft;
            import wasi:config/store@0.2.0-draft-2024-09-27;
            import wasi:logging/logging@0.1.0-draft;
            import wasi:keyvalue/store@0.2.0-draft;
            import wasi:keyvalue/atomics@0.2.0-draft;
            import wasi:keyvalue/batch@0.2.0-draft;
            import wasi:keyvalue/store@0.2.0-draft2;
            import wasi:keyvalue/atomics@0.2.0-draft2;
            import wasi:keyvalue/batch@0.2.0-draft2;
        }

        package wasi:config@0.2.0-rc.1 {
            interface store {
                variant error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, error>;
                get-all: func() -> result<list<tuple<string, string>>, error>;
            }
        }

        package wasi:config@0.2.0-draft {
            interface store {
                variant config-error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, config-error>;
                get-all: func() -> result<list<tuple<string, string>>, config-error>;
            }
        }

        package wasi:config@0.2.0-draft-2024-09-27 {
            interface store {
                variant error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, error>;
                get-all: func() -> result<list<tuple<string, string>>, error>;
            }
        }

        package wasi:logging@0.1.0-draft {
            interface logging {
                enum level { trace, debug, info, warn, error, critical }
                log: func(level: level, context: string, message: string);
            }
        }

        package wasi:keyvalue@0.2.0-draft {
            interface store {
                variant error { no-such-store, access-denied, other(string) }
                record key-response { keys: list<string>, cursor: option<u64> }
                open: func(identifier: string) -> result<bucket, error>;
                resource bucket {
                    get: func(key: string) -> result<option<list<u8>>, error>;
                    set: func(key: string, value: list<u8>) -> result<_, error>;
                    delete: func(key: string) -> result<_, error>;
                    exists: func(key: string) -> result<bool, error>;
                    list-keys: func(cursor: option<u64>) -> result<key-response, error>;
                }
            }
            interface atomics {
                use store.{bucket, error};
                increment: func(bucket: borrow<bucket>, key: string, delta: u64) -> result<u64, error>;
            }
            interface batch {
                use store.{bucket, error};
                get-many: func(bucket: borrow<bucket>, keys: list<string>) -> result<list<option<tuple<string, list<u8>>>>, error>;
                set-many: func(bucket: borrow<bucket>, key-values: list<tuple<string, list<u8>>>) -> result<_, error>;
                delete-many: func(bucket: borrow<bucket>, keys: list<string>) -> result<_, error>;
            }
        }

        package wasi:keyvalue@0.2.0-draft2 {
            interface store {
                variant error { no-such-store, access-denied, other(string) }
                record key-response { keys: list<string>, cursor: option<string> }
                open: func(identifier: string) -> result<bucket, error>;
                resource bucket {
                    get: func(key: string) -> result<option<list<u8>>, error>;
                    set: func(key: string, value: list<u8>) -> result<_, error>;
                    delete: func(key: string) -> result<_, error>;
                    exists: func(key: string) -> result<bool, error>;
                    list-keys: func(cursor: option<string>) -> result<key-response, error>;
                }
            }
            interface atomics {
                use store.{bucket, error};
                variant cas-error { store-error(error), cas-failed(cas) }
                resource cas {
                    new: static func(bucket: borrow<bucket>, key: string) -> result<cas, error>;
                    current: func() -> result<option<list<u8>>, error>;
                }
                increment: func(bucket: borrow<bucket>, key: string, delta: s64) -> result<s64, error>;
                swap: func(cas: cas, value: list<u8>) -> result<_, cas-error>;
            }
            interface batch {
                use store.{bucket, error};
                get-many: func(bucket: borrow<bucket>, keys: list<string>) -> result<list<tuple<string, option<list<u8>>>>, error>;
                set-many: func(bucket: borrow<bucket>, key-values: list<tuple<string, list<u8>>>) -> result<_, error>;
                delete-many: func(bucket: borrow<bucket>, keys: list<string>) -> result<_, error>;
            }
        }
    "#,
    generate_all,
});
