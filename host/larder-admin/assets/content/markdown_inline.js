// Divides the text of a Markdown block into spans: code, emphasis, links, images, line ends. HTML stays text. Knows no
// elements. A span is a text, or `{kind, spans?, text?, url?}`. Text with many starts of spans and no ends takes much
// time, so that callers can limit the work.

const MAX_DEPTH = 6;
/** The steps that a span costs: each is an element of the page. */
const SPAN_STEPS = 200;
/** How far the end of a span is searched. */
const REACH = 4000;

/** The places where a span can begin. */
const START =
  /\\[!-/:-@[-`{-~]|`+|\*{1,3}|_{1,3}|~~|!?\[|<(?:https?:|mailto:)[^<>\s]{1,2000}>|(?<! ) {2,}\n|\\\n/g;

/**
 * Returns the spans of a text.
 * @param {{left: number}} work The number of steps that may be made. Without any left, all is text.
 */
export function spansOf(text, work = { left: 1_000_000 }, depth = 0) {
  const result = [];
  const starts = new RegExp(START.source, "g");
  let from = 0;
  for (let match = starts.exec(text); match && work.left > 0; match = starts.exec(text)) {
    work.left -= 1;
    const found = depth < MAX_DEPTH ? spanAt(text, match.index, match[0], work, depth) : null;
    if (!found) {
      starts.lastIndex = match.index + match[0].length;
      continue;
    }
    work.left -= SPAN_STEPS;
    result.push(text.slice(from, match.index), found.span);
    from = starts.lastIndex = found.end;
  }
  result.push(text.slice(from));
  return result.filter((span) => span !== "");
}

function spanAt(text, at, start, work, depth) {
  const after = at + start.length;
  if (start === "\\\n" || start.endsWith(" \n")) return { span: { kind: "break" }, end: after };
  if (start.startsWith("\\")) return { span: start.slice(1), end: after };
  if (start.startsWith("`")) return code(text, after, start, work);
  if (start.startsWith("<"))
    return { span: { kind: "link", spans: [start.slice(1, -1)], url: start.slice(1, -1) }, end: after };
  if (start.endsWith("[")) return linkAt(text, after, start.startsWith("!"), work, depth);
  return emphasis(text, at, start, work, depth);
}

function code(text, after, mark, work) {
  const end = close(
    work,
    text,
    after,
    (at) => text.startsWith(mark, at) && text[at + mark.length] !== "`" && text[at - 1] !== "`",
  );
  if (end === null) return null;
  return {
    span: {
      kind: "code",
      text: text
        .slice(after, end)
        .replace(/\n/g, " ")
        .replace(/^ (.+) $/, "$1"),
    },
    end: end + mark.length,
  };
}

/** `*`, `_` and `~~`. `_` inside of a word is a letter. */
function emphasis(text, at, mark, work, depth) {
  const after = at + mark.length;
  const isWord = (index) => /[\p{L}\p{N}]/u.test(text[index] ?? "");
  if (!/\S/.test(text[after] ?? "") || (mark[0] === "_" && isWord(at - 1))) return null;
  const isEnd = (index) =>
    text.startsWith(mark, index) &&
    /\S/.test(text[index - 1]) &&
    text[index - 1] !== mark[0] &&
    !(mark[0] === "_" && isWord(index + mark.length));
  const end = close(work, text, after, isEnd);
  if (end === null || end === after) return null;
  const spans = spansOf(text.slice(after, end), work, depth + 1);
  const kind = mark === "~~" ? "deleted" : ["emphasis", "strong", "strong"][mark.length - 1];
  return { span: { kind, spans }, end: end + mark.length };
}

/** `[text](url "title")`, and `![text](url)`. Other links stay text. */
function linkAt(text, after, isImage, work, depth) {
  let open = 1;
  const end = close(work, text, after, (at) => {
    if (text[at] === "[") open += 1;
    if (text[at] === "]") open -= 1;
    return open === 0;
  });
  if (end === null || text[end + 1] !== "(") return null;
  const address =
    /^\(\s*(?:<([^<>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
      text.slice(end + 1, end + 1 + REACH),
    );
  if (!address) return null;
  const label = text.slice(after, end);
  const url = address[1] ?? address[2] ?? "";
  const span = isImage
    ? { kind: "image", text: label, url }
    : { kind: "link", spans: spansOf(label, work, depth + 1), url };
  return { span, end: end + 1 + address[0].length };
}

/** Finds the end of a span within reach; a backslash hides the next character. */
function close(work, text, from, isEnd) {
  const last = Math.min(text.length, from + REACH, from + work.left);
  let at = from;
  while (at < last && !isEnd(at)) at += text[at] === "\\" ? 2 : 1;
  work.left -= at - from;
  return at < last ? at : null;
}
