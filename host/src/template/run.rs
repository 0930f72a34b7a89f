//! Reads a URI by the steps of a template, going back where two ways are open.
//! No way is gone twice, unless a variable repeats; and the number of steps is bounded in any case.

use super::Effort;
use super::captures::{Captures, Piece};
use super::program::{Class, Program, Step};

/// Where a variable repeats, ways may be gone again and again. Without that, each step is made once at each byte.
const MOST_STEPS_REPEATED: usize = 1 << 13;
/// What one step costs in bytes of text that is compared, and in words of memory that is cleared.
const TEXT: usize = 64;
const WORDS: usize = 16;

/// A way that was left open.
struct Branch {
    step: u32,
    at: u32,
    pieces: u32,
}

/// Where we have been: each step at each byte.
struct Seen {
    bits: Vec<u64>,
    width: usize,
}

impl Seen {
    fn new(steps: usize, width: usize) -> Self {
        Self { bits: vec![0; (steps * width).div_ceil(64)], width }
    }

    fn again(&mut self, step: usize, at: usize) -> bool {
        let index = step * self.width + at;
        let (word, bit) = (&mut self.bits[index / 64], 1 << (index % 64));
        let seen = *word & bit != 0;
        *word |= bit;
        seen
    }
}

/// Spends of the effort what it takes. An honest template takes two to four steps for each byte of a URI.
pub(super) fn run(program: &Program, uri: &str, effort: &mut Effort) -> Option<Captures> {
    let most = effort.steps(if program.repeats { MOST_STEPS_REPEATED } else { usize::MAX });
    let pieces = Vec::with_capacity(program.slots.len());
    let mut walk = Walk { program, uri, open: vec![], seen: None, pieces, left: most };
    let found = walk.find();
    effort.spend(most - walk.left);
    found
}

struct Walk<'a> {
    program: &'a Program,
    uri: &'a str,
    open: Vec<Branch>,
    /// None as long as no way was left open: until then we have been nowhere twice.
    seen: Option<Seen>,
    pieces: Vec<Piece>,
    left: usize,
}

impl Walk<'_> {
    fn find(&mut self) -> Option<Captures> {
        let (program, uri) = (self.program, self.uri);
        let mut here = Some((0, 0));
        loop {
            while let Some((step, at)) = here {
                if self.seen.as_mut().is_some_and(|seen| seen.again(step, at)) {
                    break;
                }
                self.pay(1)?;
                if program.steps[step] == Step::Done && at == uri.len() {
                    self.pay(uri.len() + program.slots.len())?;
                    match Captures::gather(&program.slots, &self.pieces, uri) {
                        None if program.repeats => break,
                        answer => return answer,
                    }
                }
                here = self.advance(step, at)?;
            }
            let Branch { step, at, pieces } = self.open.pop()?;
            self.pieces.truncate(pieces as usize);
            here = Some((step as usize, at as usize));
        }
    }

    /// The next step and byte; none inside if this way ends, none outside if it took too long.
    fn advance(&mut self, step: usize, at: usize) -> Option<Option<(usize, usize)>> {
        let next = match &self.program.steps[step] {
            Step::Text(text) => {
                self.pay(text.len() / TEXT)?;
                self.uri[at..].starts_with(&**text).then(|| (step + 1, at + text.len()))
            }
            Step::One(class) => character(self.uri, at, *class).map(|end| (step + 1, end)),
            Step::Many(class) => match character(self.uri, at, *class) {
                Some(end) => {
                    self.leave_open(step + 1, at)?;
                    Some((step, end))
                }
                None => Some((step + 1, at)),
            },
            Step::All(class) => {
                let end = past(self.uri, at, *class);
                self.pay((end - at) / TEXT)?;
                Some((step + 1, end))
            }
            Step::Few(class) => {
                if let Some(end) = character(self.uri, at, *class) {
                    self.leave_open(step, end)?;
                }
                Some((step + 1, at))
            }
            Step::UpTo(class, most) => {
                let mut end = at;
                for _ in 0..*most {
                    let Some(longer) = character(self.uri, end, *class) else { break };
                    self.leave_open(step + 1, end)?;
                    end = longer;
                }
                Some((step + 1, end))
            }
            Step::Either(one, other) => {
                self.leave_open(*other, at)?;
                Some((*one, at))
            }
            Step::Jump(to) => Some((*to, at)),
            Step::Open(slot) => {
                self.pieces.push(Piece { slot: *slot, start: at, end: at });
                Some((step + 1, at))
            }
            Step::Close => {
                if let Some(piece) = self.pieces.last_mut() {
                    piece.end = at;
                }
                Some((step + 1, at))
            }
            Step::Done => None,
        };
        Some(next)
    }

    fn leave_open(&mut self, step: usize, at: usize) -> Option<()> {
        self.pay(1)?;
        // What follows from here on depends on the values so far only if one of them comes again.
        if self.seen.is_none() && !self.program.repeats {
            let (steps, width) = (self.program.steps.len(), self.uri.len() + 1);
            self.pay(steps * width / 64 / WORDS)?;
            self.seen = Some(Seen::new(steps, width));
        }
        self.open.push(Branch {
            step: u32::try_from(step).ok()?,
            at: u32::try_from(at).ok()?,
            pieces: u32::try_from(self.pieces.len()).ok()?,
        });
        Some(())
    }

    /// Who cannot pay has nothing left.
    fn pay(&mut self, steps: usize) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        left.map(drop)
    }
}

/// Where the character at this byte ends, if there is one of this class: written as it is,
/// or as the percent-encoded bytes of its UTF-8. What is not UTF-8 is no character.
fn character(uri: &str, at: usize, class: Class) -> Option<usize> {
    let rest = &uri.as_bytes()[at..];
    match *rest.first()? {
        b'%' => {}
        byte => return class.has(byte).then_some(at + 1),
    }
    let byte = |triplet: &[u8]| match triplet {
        [b'%', high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    let length = match byte(rest.get(..3)?)? {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    let bytes: Option<Vec<u8>> = rest.get(..3 * length)?.chunks(3).map(byte).collect();
    std::str::from_utf8(&bytes?).ok().map(|_| at + 3 * length)
}

/// Where the characters of this class that begin at this byte end.
fn past(uri: &str, mut at: usize, class: Class) -> usize {
    while let Some(end) = character(uri, at, class) {
        at = end;
    }
    at
}

fn digit(hex: u8) -> Option<u32> {
    char::from(hex).to_digit(16)
}
