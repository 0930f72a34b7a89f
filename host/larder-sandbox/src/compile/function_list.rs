//! The list of a component's functions. The compiler process appends it to the code of a component that does not export
//! the contract, so that both are sealed and replaced together. The engine ignores what follows the code.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use larder_functions::{ComponentKind, FunctionSet, ReadError, read_functions};

/// Ends the file.
const MARK: [u8; 8] = *b"larderfn";
/// The mark, and the size of the list before it.
const TRAILER_SIZE: u64 = 16;
/// Maximum size of a list in bytes.
const MAX_LIST: u64 = 32 << 20;

/// Appends the list to the code, unless the component exports the contract.
pub(super) fn append(code: &mut Vec<u8>, component: &[u8]) -> Result<(), ReadError> {
    if ComponentKind::of_component(component) == ComponentKind::Provider {
        return Ok(());
    }
    let functions = read_functions(component)?;
    // This type has no maps and no numbers that JSON cannot represent.
    let list = serde_json::to_vec(&functions).unwrap_or_default();
    code.extend_from_slice(&list);
    code.extend_from_slice(&(list.len() as u64).to_le_bytes());
    code.extend_from_slice(&MARK);
    Ok(())
}

/// Reads the list from the file of the code. None if the file has no valid list.
pub(super) fn read(file: &File) -> io::Result<Option<FunctionSet>> {
    let size = file.metadata()?.len();
    let Some(end) = size.checked_sub(TRAILER_SIZE) else {
        return Ok(None);
    };
    let mut list_size = [0; 8];
    let mut mark = [0; 8];
    file.read_exact_at(&mut list_size, end)?;
    file.read_exact_at(&mut mark, end + 8)?;
    let list_size = u64::from_le_bytes(list_size);
    let Some(start) = end.checked_sub(list_size) else {
        return Ok(None);
    };
    if mark != MARK || list_size > MAX_LIST {
        return Ok(None);
    }
    let mut list = vec![0; usize::try_from(list_size).map_err(io::Error::other)?];
    file.read_exact_at(&mut list, start)?;
    Ok(FunctionSet::parse(&list))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn read_bytes(bytes: &[u8]) -> Option<FunctionSet> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        read(&file).unwrap()
    }

    #[test]
    fn reads_what_was_appended() {
        let empty_component = b"\0asm\x0d\0\x01\0";
        let mut code = b"code".to_vec();
        append(&mut code, empty_component).unwrap();
        assert_eq!(read_bytes(&code), Some(FunctionSet::default()));
        for invalid in [&b""[..], b"code", &code[4 + 1..], &MARK, &[0xff; 64]] {
            assert_eq!(read_bytes(invalid), None);
        }
    }
}
