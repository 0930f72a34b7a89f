//! Components from real OCI registries: Debian's `docker-registry`, and `wkg` as another client. Without these programs
//! the tests are skipped with a line on stderr. `cargo xtask test registry` installs both and runs this module.

mod access;
mod attached;
mod failures;
mod images;
mod installing;
mod proxy;
mod read_only;
mod running;
mod server;
mod source;
mod team_access;
mod trust;
mod wkg;
mod workplace;
