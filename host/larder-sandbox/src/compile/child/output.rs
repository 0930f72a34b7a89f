//! What the compiler process writes to stdout: the machine code, the functions, and a trailer. The trailer, which the
//! server reads, contains the end of each part and the duration of each phase.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use super::functions::Functions;

/// Number of fields of the trailer, each of eight bytes.
const FIELDS: usize = 8;
pub(super) const TRAILER_SIZE: usize = FIELDS * size_of::<u64>();
/// Functions are small, so several functions are written together.
const BUFFER: usize = 1 << 20;

/// The trailer. The safety of the server does not depend on the trailer, because a hostile component may have written
/// it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// The size of the machine code in bytes.
    pub(crate) code: u64,
    /// The size of the functions in bytes.
    pub(crate) functions: u64,
    /// How long the process read its input.
    pub(crate) read: Duration,
    /// How long the first compilation took.
    pub(crate) compile: Duration,
    /// How long the further compilations took, which store functions under more keys.
    pub(crate) recompilation: Duration,
    /// How long writing the output took.
    pub(crate) write: Duration,
    /// How many functions were taken from the earlier revision.
    pub(crate) reused: u64,
    /// How many functions were compiled.
    pub(crate) compiled: u64,
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
        if output.code.checked_add(output.functions) == Some(content) {
            Ok(output)
        } else {
            Err(InvalidOutput)
        }
    }

    /// Where the functions are in the file.
    pub(crate) fn functions_range(&self) -> Range<u64> {
        self.code..self.code + self.functions
    }

    fn parse(trailer: &[u8; TRAILER_SIZE]) -> Self {
        let mut fields = [0; FIELDS];
        for (field, bytes) in fields.iter_mut().zip(trailer.as_chunks().0) {
            *field = u64::from_le_bytes(*bytes);
        }
        let [
            code,
            functions,
            read,
            compile,
            recompilation,
            write,
            reused,
            compiled,
        ] = fields;
        Self {
            code,
            functions,
            read: Duration::from_micros(read),
            compile: Duration::from_micros(compile),
            recompilation: Duration::from_micros(recompilation),
            write: Duration::from_micros(write),
            reused,
            compiled,
        }
    }

    fn trailer(&self) -> Vec<u8> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        [
            self.code,
            self.functions,
            micros(self.read),
            micros(self.compile),
            micros(self.recompilation),
            micros(self.write),
            self.reused,
            self.compiled,
        ]
        .map(u64::to_le_bytes)
        .concat()
    }

    /// Writes the trailer.
    pub(super) fn finish(&self) -> io::Result<()> {
        stdout()?.write_all(&self.trailer())
    }
}

/// Writes the machine code.
pub(super) fn write_code(code: &[u8], output: &mut Output) -> io::Result<()> {
    stdout()?.write_all(code)?;
    output.code = code.len() as u64;
    Ok(())
}

/// Writes the functions. If this fails, for example because the disk is full, the output has no functions.
pub(super) fn write_functions(functions: &Functions, output: &mut Output) -> io::Result<()> {
    let mut stdout = stdout()?;
    let mut buffer = BufWriter::with_capacity(BUFFER, &stdout);
    let written = functions.write(&mut buffer).and_then(|()| buffer.flush());
    // Bytes that were not written are lost, and must not be written later.
    drop(buffer.into_parts());
    match written {
        Ok(()) => output.functions = functions.size(),
        Err(_) => {
            stdout.set_len(output.code)?;
            stdout.seek(SeekFrom::Start(output.code))?;
        }
    }
    Ok(())
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
            functions: 9,
            read: time(1),
            compile: time(2),
            recompilation: time(7),
            write: time(3),
            reused: 5,
            compiled: 6,
        };
        let trailer = output.trailer();
        assert_eq!(
            read(&[b"codefunctions".as_slice(), &trailer].concat()),
            Some(output)
        );
        for invalid in [
            b"".as_slice(),
            b"compiled code",
            &trailer,
            &[0xff; TRAILER_SIZE * 2],
        ] {
            assert_eq!(read(invalid), None);
        }
        assert_eq!(
            read(&[b"codefunctions more".as_slice(), &trailer].concat()),
            None
        );
    }
}
