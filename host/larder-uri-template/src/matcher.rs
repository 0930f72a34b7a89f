//! Runs the program of a template on a URI, with backtracking. A state (an instruction and a position) is visited at
//! most once, unless a variable repeats. The number of steps is always limited.

use super::MatchBudget;
use super::capture_span::CaptureSpan;
use super::captures::Captures;
use super::class::CharClass;
use super::program::{Instruction, Program};

/// Step limit for templates with repeated variables, because these may visit a state many times. Without repeated
/// variables, each instruction runs at most once at each byte.
const MAX_STEPS_WITH_REPEATS: usize = 1 << 13;
/// Bytes of compared text that count as one step.
const BYTES_PER_STEP: usize = 64;
/// Words of cleared memory that count as one step.
const WORDS_PER_STEP: usize = 16;

/// A state to return to when the current path fails.
struct Backtrack {
    instruction: u32,
    at: u32,
    /// Number of capture spans to keep.
    spans: u32,
}

/// The visited states: one bit for each instruction at each byte.
struct VisitedStates {
    bits: Vec<u64>,
    width: usize,
}

impl VisitedStates {
    fn new(instructions: usize, width: usize) -> Self {
        Self {
            bits: vec![0; (instructions * width).div_ceil(64)],
            width,
        }
    }

    /// Marks a state as visited. Returns whether it was visited before.
    fn test_and_set(&mut self, instruction: usize, at: usize) -> bool {
        let index = instruction * self.width + at;
        let word = &mut self.bits[index / 64];
        let bit = 1 << (index % 64);
        let visited = *word & bit != 0;
        *word |= bit;
        visited
    }
}

/// Matches the URI and subtracts the steps from the budget. Normal templates take two to four steps per byte of the
/// URI.
pub(super) fn find(program: &Program, uri: &str, budget: &mut MatchBudget) -> Option<Captures> {
    let most = budget.steps(max_steps(program));
    let spans = Vec::with_capacity(program.groups.len());
    let mut matcher = Matcher {
        program,
        uri,
        backtracks: vec![],
        visited: None,
        spans,
        steps_left: most,
        none: EmptyMatch::No,
    };
    let mut found = matcher.run();
    if found.is_none() && matcher.none == EmptyMatch::Later {
        matcher.none = EmptyMatch::Yes;
        matcher.visited = None;
        matcher.spans.clear();
        matcher.backtracks.clear();
        found = matcher.run();
    }
    budget.spend(most - matcher.steps_left);
    found
}

/// Whether the values of `OneOrNone` and `AheadOrNone` may be empty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EmptyMatch {
    No,
    /// They may not be empty in this run, but another run with `Yes` may match.
    Later,
    Yes,
}

struct Matcher<'a> {
    program: &'a Program,
    uri: &'a str,
    backtracks: Vec<Backtrack>,
    /// `None` until the first backtrack point, because no state can be visited twice before it.
    visited: Option<VisitedStates>,
    spans: Vec<CaptureSpan>,
    steps_left: usize,
    none: EmptyMatch,
}

fn max_steps(program: &Program) -> usize {
    if program.repeats {
        MAX_STEPS_WITH_REPEATS
    } else {
        usize::MAX
    }
}

impl Matcher<'_> {
    fn run(&mut self) -> Option<Captures> {
        let program = self.program;
        let uri = self.uri;
        let mut here = Some((0, 0));
        loop {
            while let Some((instruction, at)) = here {
                if self
                    .visited
                    .as_mut()
                    .is_some_and(|visited| visited.test_and_set(instruction, at))
                {
                    break;
                }
                self.spend(1)?;
                if program.instructions[instruction] == Instruction::Match && at == uri.len() {
                    self.spend(uri.len() + program.groups.len())?;
                    match Captures::from_spans(&program.groups, &self.spans, uri) {
                        None if program.repeats => break,
                        answer => return answer,
                    }
                }
                here = self.advance(instruction, at)?;
            }
            let Backtrack {
                instruction,
                at,
                spans,
            } = self.backtracks.pop()?;
            self.spans.truncate(spans as usize);
            here = Some((instruction as usize, at as usize));
        }
    }

    /// Runs one instruction. Returns the next state, `Some(None)` if this path fails, or `None` if the step
    /// limit is exceeded.
    fn advance(&mut self, instruction: usize, at: usize) -> Option<Option<(usize, usize)>> {
        let program = self.program;
        let uri = self.uri;
        let following = instruction + 1;
        let next = match &program.instructions[instruction] {
            Instruction::Text(text) => {
                self.spend(text.len() / BYTES_PER_STEP)?;
                let is_here = uri[at..].starts_with(&**text);
                is_here.then(|| (following, at + text.len()))
            }
            Instruction::One(class) => match_char(uri, at, *class).map(|end| (following, end)),
            Instruction::Ahead(class) => match_char(uri, at, *class).map(|_| (following, at)),
            Instruction::OneOrNone(class, next) => {
                let end = match_char(uri, at, *class);
                self.advance_or_skip(instruction, at, end, *next)?
            }
            Instruction::AheadOrNone(class, next) => {
                let end = match_char(uri, at, *class).map(|_| at);
                self.advance_or_skip(instruction, at, end, *next)?
            }
            Instruction::NotName(names, class) => {
                self.spend(names.len())?;
                let mut names = names.iter();
                let is_name = names.any(|name| begins_with_name(&uri[at..], name, *class));
                (!is_name).then_some((following, at))
            }
            Instruction::Greedy(class) => Some(self.advance_greedily(instruction, at, *class)?),
            Instruction::Possessive(class) => {
                let end = skip_chars(uri, at, *class);
                self.spend((end - at) / BYTES_PER_STEP)?;
                Some((following, end))
            }
            Instruction::Lazy(class) => {
                if let Some(end) = match_char(uri, at, *class) {
                    self.push_backtrack(instruction, end)?;
                }
                Some((following, at))
            }
            Instruction::AtMost(class, most) => {
                Some((following, self.skip_at_most(following, at, *class, *most)?))
            }
            Instruction::Split(one, other) => {
                self.push_backtrack(*other, at)?;
                Some((*one, at))
            }
            Instruction::Jump(to) => Some((*to, at)),
            Instruction::StartKey(group) => Some(self.start_span(instruction, *group, at, true)),
            Instruction::StartCapture(group) => {
                Some(self.start_span(instruction, *group, at, false))
            }
            Instruction::EndCapture => {
                if let Some(span) = self.spans.last_mut() {
                    span.end = at;
                }
                Some((following, at))
            }
            Instruction::Match => None,
        };
        Some(next)
    }

    /// Repeats the instruction after a character, and ends before any other. Backtracking ends it earlier.
    fn advance_greedily(
        &mut self,
        instruction: usize,
        at: usize,
        class: CharClass,
    ) -> Option<(usize, usize)> {
        let Some(end) = match_char(self.uri, at, class) else {
            return Some((instruction + 1, at));
        };
        self.push_backtrack(instruction + 1, at)?;
        Some((instruction, end))
    }

    /// Returns the end of at most this many characters. Backtracking continues after fewer.
    fn skip_at_most(
        &mut self,
        following: usize,
        at: usize,
        class: CharClass,
        most: usize,
    ) -> Option<usize> {
        let mut end = at;
        for _ in 0..most {
            let Some(longer) = match_char(self.uri, end, class) else {
                break;
            };
            self.push_backtrack(following, end)?;
            end = longer;
        }
        Some(end)
    }

    /// Continues at the end of the matched text. If this byte is next, the text may also be empty.
    fn advance_or_skip(
        &mut self,
        instruction: usize,
        at: usize,
        end: Option<usize>,
        next: u8,
    ) -> Option<Option<(usize, usize)>> {
        let end = end.map(|end| (instruction + 1, end));
        if self.uri.as_bytes().get(at) != Some(&next) {
            return Some(end);
        }
        if self.none != EmptyMatch::Yes {
            self.none = EmptyMatch::Later;
            return Some(end);
        }
        if end.is_some() {
            self.push_backtrack(instruction + 1, at)?;
        }
        Some(end.or(Some((instruction + 1, at))))
    }

    fn start_span(
        &mut self,
        instruction: usize,
        group: usize,
        at: usize,
        is_key: bool,
    ) -> (usize, usize) {
        self.spans.push(CaptureSpan {
            group,
            start: at,
            end: at,
            is_key,
        });
        (instruction + 1, at)
    }

    fn push_backtrack(&mut self, instruction: usize, at: usize) -> Option<()> {
        self.spend(1)?;
        // With repeated variables, the rest of a match depends on earlier values, so visited states cannot be
        // skipped.
        if self.visited.is_none() && !self.program.repeats {
            let instructions = self.program.instructions.len();
            let width = self.uri.len() + 1;
            self.spend(instructions * width / 64 / WORDS_PER_STEP)?;
            self.visited = Some(VisitedStates::new(instructions, width));
        }
        self.backtracks.push(Backtrack {
            instruction: u32::try_from(instruction).ok()?,
            at: u32::try_from(at).ok()?,
            spans: u32::try_from(self.spans.len()).ok()?,
        });
        Some(())
    }

    /// Subtracts steps from the limit. If too few steps are left, returns `None` and sets the limit to 0.
    fn spend(&mut self, steps: usize) -> Option<()> {
        let steps_left = self.steps_left.checked_sub(steps);
        self.steps_left = steps_left.unwrap_or(0);
        steps_left.map(drop)
    }
}

/// Whether the text begins with the name, and no character of this class follows it.
fn begins_with_name(text: &str, name: &str, class: CharClass) -> bool {
    text.strip_prefix(name)
        .is_some_and(|rest| match_char(rest, 0, class).is_none())
}

/// Returns the end of the character at this byte if it matches: an ASCII character of this class, or any
/// character as percent-encoded UTF-8. Invalid UTF-8 does not match.
fn match_char(uri: &str, at: usize, class: CharClass) -> Option<usize> {
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

/// Returns the end of the longest run of matching characters that begins at this byte.
fn skip_chars(uri: &str, mut at: usize, class: CharClass) -> usize {
    while let Some(end) = match_char(uri, at, class) {
        at = end;
    }
    at
}

fn digit(hex: u8) -> Option<u32> {
    char::from(hex).to_digit(16)
}
