//! A Markdown file with commands and their output, for `larder test`.

use std::ops::Range;

/// What begins and ends a block.
const FENCE: &str = "```";
/// What precedes a command.
const PROMPT: &str = "$ larder ";

/// Why a file cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CasesError {
    /// A block is not closed.
    #[error("line {0}: the block does not end")]
    OpenBlock(usize),
    /// A block begins with output.
    #[error("line {0}: output before the first command: a command begins with `{PROMPT}`")]
    OutputWithoutCommand(usize),
    /// The arguments cannot be split into words.
    #[error("line {0}: a quote in the command does not end")]
    OpenQuote(usize),
    /// The file has no command.
    #[error("there is no command: a block of `console` has lines such as `{PROMPT}list`")]
    Empty,
    /// An output cannot be written to the file.
    #[error("the output of `larder {0}` has a line that begins with `{FENCE}`, which ends a block")]
    FenceInOutput(String),
}

/// The commands of a file, in its order.
#[derive(Debug)]
pub struct Cases {
    /// With line feeds only.
    text: String,
    /// Whether lines end with a carriage return, too.
    is_windows: bool,
    positions: Vec<Position>,
}

/// Where a command is in the file.
#[derive(Debug)]
struct Position {
    config: Range<usize>,
    arguments: Vec<String>,
    output: Range<usize>,
    /// The output that replaces the one in the file.
    new_output: Option<String>,
}

/// A command.
pub struct Case<'a> {
    /// The configuration, as TOML without `plugins`.
    pub config: &'a str,
    /// What follows `larder` on the command line.
    pub arguments: &'a [String],
    /// The output in the file.
    pub expected: &'a str,
}

/// What the lines of a block are.
enum Block {
    Config,
    Console,
    Other,
}

/// Finds the commands, line by line.
#[derive(Default)]
struct Parser {
    positions: Vec<Position>,
    config: Range<usize>,
    /// The block that is not closed yet, and the number of its first line.
    block: Option<(Block, usize)>,
    /// The number of commands before this block.
    before_block: usize,
}

impl Cases {
    /// Finds the commands in a file.
    pub fn parse(text: &str) -> Result<Self, CasesError> {
        let is_windows = text.contains("\r\n");
        let text = text.replace("\r\n", "\n");
        let mut parser = Parser::default();
        let mut start = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            parser.add_line(line, number, start)?;
            start += line.len();
        }
        if let Some((_, number)) = parser.block {
            return Err(CasesError::OpenBlock(number));
        }
        let positions = parser.positions;
        if positions.is_empty() {
            return Err(CasesError::Empty);
        }
        Ok(Self {
            text,
            is_windows,
            positions,
        })
    }

    /// The number of commands.
    pub fn count(&self) -> usize {
        self.positions.len()
    }

    /// Returns a command by its number, from 0 on.
    pub fn case(&self, at: usize) -> Case<'_> {
        let position = &self.positions[at];
        Case {
            config: &self.text[position.config.clone()],
            arguments: &position.arguments,
            expected: &self.text[position.output.clone()],
        }
    }

    /// Replaces the output of a command.
    pub fn set_output(&mut self, at: usize, output: &str) {
        self.positions[at].new_output = Some(output.replace("\r\n", "\n"));
    }

    /// Returns the file with the outputs that were replaced. Its lines end as before.
    pub fn into_text(self) -> Result<String, CasesError> {
        let mut text = self.text;
        // From the end on, so that the positions before stay valid.
        for position in self.positions.into_iter().rev() {
            let Some(mut output) = position.new_output else {
                continue;
            };
            if output.lines().any(|line| line.starts_with(FENCE)) {
                let command = position.arguments.join(" ");
                return Err(CasesError::FenceInOutput(command));
            }
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            text.replace_range(position.output, &output);
        }
        if self.is_windows {
            text = text.replace('\n', "\r\n");
        }
        Ok(text)
    }
}

impl Parser {
    fn add_line(&mut self, line: &str, number: usize, start: usize) -> Result<(), CasesError> {
        let end = start + line.len();
        let fence = line.strip_prefix(FENCE);
        let Some((block, _)) = &self.block else {
            if let Some(language) = fence {
                self.begin_block(language.trim(), number, end);
            }
            return Ok(());
        };
        if fence.is_some() {
            self.block = None;
            return Ok(());
        }
        match block {
            Block::Config => self.config.end = end,
            Block::Console => self.add_console_line(line, number, start..end)?,
            Block::Other => {}
        }
        Ok(())
    }

    fn begin_block(&mut self, language: &str, number: usize, end: usize) {
        let block = match language {
            "toml" => Block::Config,
            "console" => Block::Console,
            _ => Block::Other,
        };
        if let Block::Config = block {
            self.config = end..end;
        }
        self.before_block = self.positions.len();
        self.block = Some((block, number));
    }

    fn add_console_line(
        &mut self,
        line: &str,
        number: usize,
        place: Range<usize>,
    ) -> Result<(), CasesError> {
        if let Some(arguments) = line.strip_prefix(PROMPT) {
            let arguments = shlex::split(arguments).ok_or(CasesError::OpenQuote(number))?;
            self.positions.push(Position {
                config: self.config.clone(),
                arguments,
                output: place.end..place.end,
                new_output: None,
            });
            return Ok(());
        }
        let of_block = &mut self.positions[self.before_block..];
        let command = of_block
            .last_mut()
            .ok_or(CasesError::OutputWithoutCommand(number))?;
        command.output.end = place.end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# x\n\n```toml\na = 1\n```\n\nwords\n\n```console\n$ larder list\none\n\ntwo\n$ larder \
                        read 'a b'\nthree\n```\n\n```sh\nls\n```\n\n```console\n$ larder tools\n```\n";

    fn parse(text: &str) -> Result<Cases, CasesError> {
        Cases::parse(text)
    }

    #[test]
    fn finds_commands_with_their_configuration_and_output() {
        let cases = parse(TEXT).unwrap();
        let all: Vec<_> = (0..cases.count())
            .map(|at| {
                let case = cases.case(at);
                (case.config, case.arguments.join("|"), case.expected)
            })
            .collect();
        let expected = [
            ("a = 1\n", "list".to_owned(), "one\n\ntwo\n"),
            ("a = 1\n", "read|a b".to_owned(), "three\n"),
            ("a = 1\n", "tools".to_owned(), ""),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn replaces_outputs() {
        let mut cases = parse(TEXT).unwrap();
        cases.set_output(0, "1\n");
        cases.set_output(2, "none");
        let expected = TEXT
            .replace("one\n\ntwo\n", "1\n")
            .replace("$ larder tools\n", "$ larder tools\nnone\n");
        assert_eq!(cases.into_text().unwrap(), expected);
        let mut cases = parse(TEXT).unwrap();
        cases.set_output(1, "```\n");
        assert_eq!(
            cases.into_text(),
            Err(CasesError::FenceInOutput("read a b".to_owned()))
        );
    }

    #[test]
    fn lines_may_end_as_on_windows() {
        let text = TEXT.replace('\n', "\r\n");
        let mut cases = parse(&text).unwrap();
        let case = cases.case(1);
        assert_eq!((case.config, case.expected), ("a = 1\n", "three\n"));
        assert_eq!(case.arguments, ["read", "a b"]);
        cases.set_output(1, "3\r\n");
        let expected = text.replace("three", "3");
        assert_eq!(cases.into_text().unwrap(), expected);
    }

    #[test]
    fn says_where_a_file_is_wrong() {
        let error = |text: &str| parse(text).unwrap_err();
        assert_eq!(
            error("x\n```console\n$ larder list\n"),
            CasesError::OpenBlock(2)
        );
        assert_eq!(
            error("```console\nwords\n```\n"),
            CasesError::OutputWithoutCommand(2)
        );
        assert_eq!(
            error("```console\n$ larder read 'a\n```\n"),
            CasesError::OpenQuote(2)
        );
        assert_eq!(error("# words\n"), CasesError::Empty);
    }
}
