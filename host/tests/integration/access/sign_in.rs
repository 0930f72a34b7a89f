//! The client commands sign in to protected servers: discovery, both flows, stored tokens, and answers of servers that
//! must not be used.

mod bad_answers;
mod commands;
mod flows;
mod servers;
mod stored_tokens;
