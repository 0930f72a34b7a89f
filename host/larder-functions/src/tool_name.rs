//! Names of tools. The strictest clients accept `^[a-zA-Z0-9_-]{1,64}$`.

/// Maximum length of a name.
const MAX: usize = 64;
/// Number of hexadecimal digits that replace the end of a long name.
const HASH_DIGITS: usize = 8;

/// Returns the name of the tool of a function: the name of its interface without package and version, `_`, and the name
/// of the function. The names of WIT contain no `_`, so no function of the component itself has the name of another one.
pub(crate) fn tool_name(interface: Option<&str>, function: &str) -> String {
    let name = match interface {
        Some(interface) => format!("{}_{function}", short_name(interface)),
        None => function.to_owned(),
    };
    if name.len() > MAX {
        shortened(&name)
    } else {
        name
    }
}

/// The name of an interface without its package and version.
pub(crate) fn short_name(interface: &str) -> &str {
    let unversioned = interface.split('@').next().unwrap_or(interface);
    unversioned.rsplit('/').next().unwrap_or(unversioned)
}

fn shortened(name: &str) -> String {
    // The names of WIT are ASCII.
    let end = name.floor_char_boundary(MAX - HASH_DIGITS - 1);
    format!("{}_{:08x}", &name[..end], hash(name))
}

/// The 32-bit FNV-1a hash. It must stay the same in all versions, because approvals contain names.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_valid() {
        let long = "very-long-name-of-a-function-".repeat(4);
        for (interface, function, expected) in [
            (None, "now", "now"),
            (Some("local:time/clock@1.0.0"), "now", "clock_now"),
            (Some("clock"), "get-HTTP", "clock_get-HTTP"),
            (
                None,
                long.as_str(),
                "very-long-name-of-a-function-very-long-name-of-a-functi_7b53d3b1",
            ),
        ] {
            let name = tool_name(interface, function);
            assert!(name.len() <= MAX, "{name}");
            assert_eq!(name, expected);
        }
    }
}
