//! Exports one function in an interface: equal in interface to the time server of another host.

wit_bindgen::generate!({
    inline: r#"
        package guests:time-server;

        interface time {
            get-current-time: func() -> string;
        }

        world time-server {
            export time;
        }
    "#,
});

use std::time::SystemTime;

struct Component;

impl exports::guests::time_server::time::Guest for Component {
    fn get_current_time() -> String {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        format!("{} seconds since 1970", since.unwrap_or_default().as_secs())
    }
}

export!(Component);
