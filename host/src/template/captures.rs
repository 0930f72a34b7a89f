//! The values that a match gave, and whether a guest may see them.

use percent_encoding::percent_decode_str;

use super::parse::Shape;
use super::program::Slot;

/// The values with which a template gives a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    /// Names and values, decoded once, in the template's order; a list is one pair for each of
    /// its values. What the URI does not have is left out.
    pub values: Vec<(String, String)>,
    verdict: Result<(), Unsafe>,
}

/// Why a value must not reach a guest that did not ask for raw values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of `{variable}` {reason}")]
pub struct Unsafe {
    /// Whose value it is.
    pub variable: String,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What could lead a guest out of where it means to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A character that ends strings in C.
    #[error("has a NUL character")]
    Nul,
    /// `%2F` or `%5C`.
    #[error("has an encoded `/` or `\\`")]
    EncodedSeparator,
    /// The separator of Windows.
    #[error("has a `\\`")]
    Backslash,
    /// A step up.
    #[error("has a `..` segment")]
    Parent,
    /// It begins at the root.
    #[error("is an absolute path")]
    Absolute,
    /// It begins at the root of a Windows volume.
    #[error("begins with a drive letter")]
    Drive,
}

/// Where in the URI one value of a slot stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) slot: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Captures {
    /// Whether the values may be handed to a guest that takes them for parts of a path.
    pub fn screen(&self) -> Result<(), Unsafe> {
        self.verdict.clone()
    }

    /// None if the pieces contradict one another.
    pub(super) fn gather(slots: &[Slot], pieces: &[Piece], uri: &str) -> Option<Self> {
        if is_plain(slots, pieces) {
            let value =
                |piece: &Piece| decoded(piece, uri).map(|value| (slots[piece.slot].name.to_string(), value));
            let values = pieces.iter().map(value).collect::<Option<_>>()?;
            return Some(Self { values, verdict: judge(slots, pieces, uri) });
        }
        let mut read = vec![vec![]; slots.len()];
        for piece in pieces {
            read[piece.slot].push(decoded(piece, uri)?);
        }
        let agree = |(slot, values): (&Slot, &Vec<String>)| agrees(slot.shape, values, &read[slot.whole]);
        if !slots.iter().zip(&read).all(agree) {
            return None;
        }
        let values = slots
            .iter()
            .filter(|slot| slot.first)
            .flat_map(|slot| read[slot.whole].iter().map(|value| (slot.name.to_string(), value.clone())));
        Some(Self { values: values.collect(), verdict: judge(slots, pieces, uri) })
    }
}

fn decoded(piece: &Piece, uri: &str) -> Option<String> {
    Some(percent_decode_str(&uri[piece.start..piece.end]).decode_utf8().ok()?.into_owned())
}

/// Whether there is one whole value for each variable, in their order: then nothing has to agree with anything.
fn is_plain(slots: &[Slot], pieces: &[Piece]) -> bool {
    let mut places = pieces.iter().map(|piece| piece.slot).enumerate();
    slots.len() == pieces.len()
        && places.all(|(n, slot)| n == slot)
        && slots.iter().all(|slot| slot.first && slot.shape == Shape::Whole)
}

fn agrees(shape: Shape, values: &[String], whole: &[String]) -> bool {
    match (shape, values, whole) {
        (Shape::Exploded, _, _) => values == whole,
        (_, [], _) => whole.is_empty(),
        (Shape::Whole, [_], _) => values == whole,
        (Shape::Prefix(most), [value], [whole]) => value.chars().eq(whole.chars().take(most)),
        (Shape::Whole | Shape::Prefix(_), _, _) => false,
    }
}

fn judge(slots: &[Slot], pieces: &[Piece], uri: &str) -> Result<(), Unsafe> {
    let nothing_is_encoded = !uri.as_bytes().contains(&b'%');
    for piece in pieces {
        let (slot, raw) = (&slots[piece.slot], &uri[piece.start..piece.end]);
        if nothing_is_encoded && is_harmless(raw) {
            continue;
        }
        let value = percent_decode_str(raw).decode_utf8_lossy();
        let path = || {
            let parent = || steps_up(uri, piece).then_some(Reason::Parent);
            if slot.path_like { path_fault(raw, &value).or_else(parent) } else { None }
        };
        if let Some(reason) = value.contains('\0').then_some(Reason::Nul).or_else(path) {
            return Err(Unsafe { variable: slot.name.to_string(), reason });
        }
    }
    Ok(())
}

/// Whether none of what is looked for below can be in a value, or in the segment around it: most are like this.
fn is_harmless(raw: &str) -> bool {
    !raw.is_empty() && !raw.bytes().any(|byte| matches!(byte, b'\0' | b'\\' | b'/' | b'.' | b':'))
}

/// Whether the value is part of a `..` that several values, or literal text and values, make up.
fn steps_up(uri: &str, piece: &Piece) -> bool {
    let start = uri[..piece.start].rfind(['/', ':']).map_or(0, |i| i + 1);
    let end = uri[piece.end..].find(['/', '?', '#']).map_or(uri.len(), |i| piece.end + i);
    let segments = percent_decode_str(&uri[start..end]).decode_utf8_lossy();
    segments.split('/').any(|segment| segment == "..")
}

fn path_fault(raw: &str, value: &str) -> Option<Reason> {
    let encoded =
        |triplet: &[u8]| triplet.eq_ignore_ascii_case(b"%2f") || triplet.eq_ignore_ascii_case(b"%5c");
    let drive = |value: &[u8]| matches!(value, [letter, b':'] | [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    if raw.as_bytes().windows(3).any(encoded) {
        Some(Reason::EncodedSeparator)
    } else if value.contains('\\') {
        Some(Reason::Backslash)
    } else if value.split('/').any(|segment| segment == "..") {
        Some(Reason::Parent)
    } else if value.starts_with('/') {
        Some(Reason::Absolute)
    } else if drive(value.as_bytes()) {
        Some(Reason::Drive)
    } else {
        None
    }
}
