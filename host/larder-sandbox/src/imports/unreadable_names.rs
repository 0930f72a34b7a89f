//! Counts the names of files that a guest cannot read. WASI passes names only as UTF-8, so a name with other bytes is
//! an error in the directory listing. Most languages skip such an error silently.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DirectoryEntry, DirectoryEntryStream, ErrorCode, Host as _, HostDirectoryEntryStream as _,
};

use crate::guest::state::GuestState;

const INTERFACE: &str = "wasi:filesystem/types@0.2.12";
const FUNCTION: &str = "[method]directory-entry-stream.read-directory-entry";

/// The result of the function, as the interface defines it.
type Entry = Result<Option<DirectoryEntry>, ErrorCode>;

/// Replaces the function that returns the next name of a folder with a function that also counts. The interfaces of
/// WASI must already be in the linker.
pub(super) fn count_unreadable_names(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance(INTERFACE)?.func_wrap_async(
        FUNCTION,
        |mut store, (stream,): (Resource<DirectoryEntryStream>,)| {
            Box::new(async move {
                let state = store.data_mut();
                let entry = state.filesystem().read_directory_entry(stream).await;
                Ok((state.checked_entry(entry)?,))
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

impl GuestState {
    fn checked_entry(
        &mut self,
        entry: FsResult<Option<DirectoryEntry>>,
    ) -> wasmtime::Result<Entry> {
        let error = match entry {
            Ok(entry) => return Ok(Ok(entry)),
            Err(error) => self.filesystem().convert_error_code(error)?,
        };
        if error == ErrorCode::IllegalByteSequence {
            self.unreadable_names += 1;
        }
        Ok(Err(error))
    }
}
