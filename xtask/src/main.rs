//! What the two commands of the README run.
fn main() {}
