//! What the compiler process writes to stdout: the machine code and a trailer. The trailer, which the server reads,
//! contains the size of the code and the duration of each phase.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// Number of fields of the trailer, each of eight bytes.
const FIELDS: usize = 4;
pub(super) const TRAILER_SIZE: usize = FIELDS * size_of::<u64>();

/// The trailer. The safety of the server does not depend on the trailer, because a hostile component may have written
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output {
    /// The size of the machine code in bytes.
    pub(crate) code: u64,
    /// How long the process read its input.
    pub(crate) read: Duration,
    /// How long the compilation took.
    pub(crate) compile: Duration,
    /// How long writing the code took.
    pub(crate) write: Duration,
}

/// The output has no valid trailer.
#[derive(Debug, thiserror::Error)]
#[error("its output is incomplete")]
pub(crate) struct InvalidOutput;

impl Output {
    /// Reads the trailer of the output of a compiler process.
    pub(crate) fn of(file: &File) -> Result<Self, InvalidOutput> {
        let size = file.metadata().map_err(|_| InvalidOutput)?.len();
        let content = size.checked_sub(TRAILER_SIZE as u64).ok_or(InvalidOutput)?;
        let mut trailer = [0; TRAILER_SIZE];
        file.read_exact_at(&mut trailer, content)
            .map_err(|_| InvalidOutput)?;
        let output = Self::parse(&trailer);
        if output.code == content {
            Ok(output)
        } else {
            Err(InvalidOutput)
        }
    }

    fn parse(trailer: &[u8; TRAILER_SIZE]) -> Self {
        let mut fields = [0; FIELDS];
        for (field, bytes) in fields.iter_mut().zip(trailer.as_chunks().0) {
            *field = u64::from_le_bytes(*bytes);
        }
        let [code, read, compile, write] = fields;
        Self {
            code,
            read: Duration::from_micros(read),
            compile: Duration::from_micros(compile),
            write: Duration::from_micros(write),
        }
    }

    fn trailer(&self) -> Vec<u8> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        [
            self.code,
            micros(self.read),
            micros(self.compile),
            micros(self.write),
        ]
        .map(u64::to_le_bytes)
        .concat()
    }

    pub(super) fn write_trailer(&self) -> io::Result<()> {
        stdout()?.write_all(&self.trailer())
    }
}

/// Writes the machine code.
pub(super) fn write_code(code: &[u8]) -> io::Result<()> {
    stdout()?.write_all(code)
}

/// This is the file behind the descriptor, because `stdout()` would search the bytes for line breaks.
fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<Output> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Output::of(&file).ok()
    }

    #[test]
    fn the_trailer_describes_the_whole_output() {
        let time = Duration::from_millis;
        let output = Output {
            code: 4,
            read: time(1),
            compile: time(2),
            write: time(3),
        };
        let trailer = output.trailer();
        assert_eq!(read(&[b"code".as_slice(), &trailer].concat()), Some(output));
        for invalid in [
            b"".as_slice(),
            b"compiled code",
            &trailer,
            &[0xff; TRAILER_SIZE * 2],
        ] {
            assert_eq!(read(invalid), None);
        }
        assert_eq!(
            read(&[b"code and more".as_slice(), &trailer].concat()),
            None
        );
    }
}
