//! Decompresses a part of a file into memory, up to a known size.

use gix_zlib::{Decompress, FlushDecompress, Status};
use larder_provider::{Error, Result};

use crate::cache::ReadAt;

/// The number of compressed bytes that are read at once.
const CHUNK: u64 = 64 << 10;

/// The compressed data at a position of a file.
pub(crate) struct Stream<'a> {
    file: &'a dyn ReadAt,
    offset: u64,
    input: Vec<u8>,
    consumed: usize,
    state: Decompress,
    ended: bool,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(file: &'a dyn ReadAt, offset: u64) -> Self {
        Self {
            file,
            offset,
            input: Vec::new(),
            consumed: 0,
            state: Decompress::new(),
            ended: false,
        }
    }

    /// Decompresses exactly this number of bytes, after which the data must end.
    pub(crate) fn exactly(file: &'a dyn ReadAt, offset: u64, size: usize) -> Result<Vec<u8>> {
        let mut stream = Self::new(file, offset);
        // One byte more than expected shows whether there are too many bytes.
        let bytes = stream.at_most(size + 1, size as u64)?;
        if bytes.len() == size && stream.ended {
            Ok(bytes)
        } else {
            Err(corrupt("a size that differs from its header"))
        }
    }

    /// Decompresses the next bytes. Returns fewer than this number only at the end. `hint` is the expected size of the
    /// remaining data, so that only a little is read for a small object.
    pub(crate) fn at_most(&mut self, length: usize, hint: u64) -> Result<Vec<u8>> {
        let mut output = vec![0; length];
        let mut written = 0;
        while written < length && !self.ended {
            if self.consumed == self.input.len() {
                self.input = self
                    .file
                    .read_at(self.offset, hint.saturating_add(64).min(CHUNK))?;
                self.offset += self.input.len() as u64;
                self.consumed = 0;
            }
            written += self.step(&mut output[written..])?;
        }
        output.truncate(written);
        Ok(output)
    }

    fn step(&mut self, output: &mut [u8]) -> Result<usize> {
        let (read, written) = (self.state.total_in(), self.state.total_out());
        let input = &self.input[self.consumed..];
        let status = self.state.decompress(input, output, FlushDecompress::None);
        let (read, written) = (
            self.state.total_in() - read,
            self.state.total_out() - written,
        );
        self.consumed += usize::try_from(read).unwrap_or_default();
        self.ended = matches!(status, Ok(Status::StreamEnd));
        match status {
            Err(_) => Err(corrupt("compressed data that is not valid")),
            Ok(_) if read == 0 && written == 0 && !self.ended => {
                Err(corrupt("an end that is missing"))
            }
            Ok(_) => Ok(usize::try_from(written).unwrap_or_default()),
        }
    }
}

/// An error in the files of the repository.
pub(crate) fn corrupt(what: &str) -> Error {
    Error::Failed(format!("the repository is damaged: an object has {what}"))
}
