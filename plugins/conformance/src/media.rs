//! The smallest picture and the smallest sound.

/// A red image of one pixel.
pub(crate) const PIXEL: &[u8] = include_bytes!("pixel.png");

/// One sample of silence: 16 bits, mono, 8000 Hz.
pub(crate) const SILENCE: &[u8] =
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0";
