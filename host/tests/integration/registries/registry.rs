//! Components from real OCI registries: Debian's `docker-registry`, and `wkg` as another client. Without these programs
//! the tests are skipped with a line on stderr. `cargo xtask test registry` installs the first and runs this module;
//! `cargo xtask test wkg` runs the tests with `wkg`.

mod access;
mod attached;
mod failures;
mod images;
mod installing;
mod proxy;
mod read_only;
mod recorded;
mod running;
mod server;
mod source;
mod team_access;
mod trust;
mod wkg;
mod workplace;

pub(crate) use self::running::in_mount_namespace;
