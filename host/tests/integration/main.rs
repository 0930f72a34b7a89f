//! All tests that need real components in a real sandbox, as one binary.
//! `cargo xtask guests plugins` builds the components. `host/tests/README.md` says which behaviour is tested where.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::too_many_lines, reason = "tables are long")]

mod support {
    pub(crate) mod harness;
    pub(crate) mod http_server;
    pub(crate) mod process;
    pub(crate) mod revision;
}

mod protocol {
    pub(crate) mod cancellation;
    mod draining;
    mod eras;
    pub(crate) mod extension;
    mod filtering;
    mod malformed_requests;
    pub(crate) mod many_listeners;
    mod modern;
    mod request_log;
    mod resource_tools;
    mod restarts;
    mod resume;
    pub(crate) mod stdio;
    pub(crate) mod subscriptions;
    pub(crate) mod trace_context;
    mod unix_socket;
}

mod access {
    mod approval;
    pub(crate) mod auth;
    mod credentials;
    mod grants;
    mod quotas;
    mod secrets;
    mod sign_in;
    mod teams;
}

mod gateway {
    mod across_slashes;
    mod caching;
    mod catalog;
    mod definitions;
    mod functions;
    mod interfaces;
    mod search;
    mod search_index;
    mod skills;
    mod slow_lists;
}

mod changes {
    pub(crate) mod change_detector;
    mod component_rejection;
    mod exact_notifications;
    mod list_changes;
    mod live_reload;
    mod reconcile;
    mod reload_under_load;
}

mod sandbox {
    mod compiling;
    mod excess;
    mod execution_denied;
    mod file_digests;
    mod file_limits;
    pub(crate) mod fixtures;
    mod full_capacity;
    mod guest_stderr;
    mod key_value;
    mod log_limits;
    mod long_calls;
    mod misbehaviour;
    mod nesting;
    mod outgoing_http;
    mod overload;
    mod panics;
    mod reuse;
    mod tcp;
    mod wasi_proposals;
}

mod administration {
    pub(crate) mod admin;
    mod admin_data;
    mod admin_page;
    mod audit;
    mod check_configurations;
    mod denied_requests;
    pub(crate) mod metrics;
    mod online_check;
    mod operators;
    mod server_reload;
    mod shutdown;
    mod state_folder;
    mod stored_state;
    mod telemetry;
}

mod authors {
    pub(crate) mod author;
    mod authoring;
    pub(crate) mod changelog;
    mod component_test;
    mod dev;
    mod development;
}

mod commands {
    mod client;
    mod client_addresses;
    mod client_certificates;
    mod command_output;
    mod connect;
    mod shell_completion;
    mod up;
}

mod registries {
    pub(crate) mod registry;
    mod signatures;
}

mod cluster {
    mod replicas;
    mod sessions;
}
