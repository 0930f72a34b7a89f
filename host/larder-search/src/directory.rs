//! The files of an index, for tantivy. Unlike tantivy's own directory, this directory does not map files into memory: a
//! truncated file or a failing disk is an error here. With mapped files, it would end the process.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, INDEX_WRITER_LOCK, Lock, OwnedBytes,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

/// Size of the buffer of a file that is written.
const BUFFER_BYTES: usize = 64 << 10;

/// The files in a folder. Clones share the same files.
#[derive(Debug, Clone)]
pub(crate) struct FileDirectory {
    folder: Arc<PathBuf>,
    /// The last error of a write. Tantivy writes on threads of its own, and reports only that a thread failed.
    write_error: Arc<Mutex<Option<io::Error>>>,
}

impl FileDirectory {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder: Arc::new(folder),
            write_error: Arc::default(),
        }
    }

    /// Takes the last error of a write.
    pub(crate) fn take_write_error(&self) -> Option<io::Error> {
        self.write_error.lock().take()
    }

    fn record<T>(&self, result: io::Result<T>) -> io::Result<T> {
        record(&self.write_error, result)
    }

    fn replace(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        // The file is created with mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(&*self.folder)?;
        file.write_all(data)?;
        file.as_file().sync_data()?;
        file.persist(self.folder.join(path))?;
        Ok(())
    }
}

/// Keeps a copy of an error.
fn record<T>(slot: &Mutex<Option<io::Error>>, result: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &result {
        *slot.lock() = Some(copy_of(error));
    }
    result
}

fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// An open file. Its content stays readable when the file is deleted.
#[derive(Debug)]
struct ReadFile {
    file: File,
    len: usize,
}

impl HasLen for ReadFile {
    fn len(&self) -> usize {
        self.len
    }
}

impl FileHandle for ReadFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.len {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the file is too short",
            ));
        }
        let mut bytes = vec![0; range.len()];
        self.file.read_exact_at(&mut bytes, range.start as u64)?;
        Ok(OwnedBytes::new(bytes))
    }
}

/// A new file.
struct NewFile {
    file: File,
    write_error: Arc<Mutex<Option<io::Error>>>,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        record(&self.write_error, self.file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for NewFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        record(&self.write_error, self.file.sync_data())
    }
}

fn read_error(error: io::Error, path: &Path) -> OpenReadError {
    match error.kind() {
        ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
        _ => OpenReadError::wrap_io_error(error, path.to_owned()),
    }
}

impl Directory for FileDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let open = || -> io::Result<ReadFile> {
            let file = File::open(self.folder.join(path))?;
            let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
            Ok(ReadFile { file, len })
        };
        open()
            .map(|file| Arc::new(file) as _)
            .map_err(|error| read_error(error, path))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        std::fs::remove_file(self.folder.join(path)).map_err(|error| match error.kind() {
            ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError {
                io_error: Arc::new(error),
                filepath: path.to_owned(),
            },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.folder
            .join(path)
            .try_exists()
            .map_err(|error| read_error(error, path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.folder.join(path));
        let file = self.record(opened).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        let file = NewFile {
            file,
            write_error: self.write_error.clone(),
        };
        Ok(BufWriter::with_capacity(BUFFER_BYTES, Box::new(file)))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut bytes = Vec::new();
        let read =
            File::open(self.folder.join(path)).and_then(|mut file| file.read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|error| read_error(error, path))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.record(self.replace(path, data))
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.record(File::open(&*self.folder).and_then(|folder| folder.sync_data()))
    }

    /// The lock of the writer is not needed, because the folder has a lock of its own. The other lock prevents that
    /// files are deleted while a reader opens them. This lock ends with the process.
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == INDEX_WRITER_LOCK.filepath {
            return Ok(DirectoryLock::from(Box::new(())));
        }
        let path = self.folder.join(&lock.filepath);
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path);
        let locked = opened.and_then(|file| file.lock().map(|()| file));
        locked
            .map(|file| DirectoryLock::from(Box::new(file)))
            .map_err(LockError::wrap_io_error)
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        // Readers compare the files themselves.
        Ok(WatchHandle::empty())
    }
}
