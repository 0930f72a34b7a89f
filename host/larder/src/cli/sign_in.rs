//! How client commands sign in: where the tokens are, and how the user is asked.

use std::process::{Command, Stdio};
use std::sync::Arc;

use super::out;
use larder_client::{SignIn, TokenStore, UserAction, UserPrompt};
use larder_config as config;
use larder_model::address::is_public;

/// The folder with the tokens, inside the state folder of the user.
const FOLDER: &str = "sign-ins";
/// Programs that open a URL in the browser of the user.
const BROWSERS: [&str; 2] = ["xdg-open", "open"];

/// Uses the stored tokens of this user, and asks nobody. `None` if there is no folder for the tokens.
pub(super) fn stored() -> Option<SignIn> {
    let store = TokenStore::new(config::user_state_dir()?.join(FOLDER));
    Some(SignIn::new(store, is_public))
}

/// Prints what the user has to do, and opens the page in a browser if that is wanted.
pub(super) fn prompt(opens_browser: bool) -> UserPrompt {
    Arc::new(move |action| match action {
        UserAction::OpenUrl(url) => {
            out::note("larder: sign in on this page, in a browser on this machine:");
            out::note(url);
            if opens_browser {
                open(url);
            }
        }
        UserAction::EnterCode {
            url,
            code,
            url_with_code,
        } => {
            out::note(&format!(
                "larder: open {url} in a browser, and enter the code {code}"
            ));
            if let Some(url) = url_with_code {
                out::note(&format!("larder: or open {url}"));
            }
        }
    })
}

/// Opens a URL with the program in `BROWSER`, or the program of the desktop. If there is none, the user opens the URL.
fn open(url: &str) {
    let chosen = config::variable("BROWSER");
    let programs = match &chosen {
        Some(program) => vec![program.as_str()],
        None => BROWSERS.to_vec(),
    };
    for program in programs {
        let mut words = program.split_whitespace();
        let started = Command::new(words.next().unwrap_or_default())
            .args(words)
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if started.is_ok() {
            return;
        }
    }
}
