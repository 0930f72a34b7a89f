// Divides Markdown into blocks: the common part of CommonMark and tables. HTML stays text. Takes time in proportion
// to the text, and knows no elements. A block is `{kind, ...}`; containers have `blocks`, leaves have `text`.

const MAX_DEPTH = 12;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+|$)(.*)$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: {1,4}|$)/;
const DIVIDER = /^\|?[ \t]*:?-+:?(?:[ \t]*\|[ \t]*:?-+:?)*[ \t]*\|?$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;

/** Yields the blocks of a text one after the other, so that a caller can stop early. */
export function* blocksOf(text) {
  yield* parse(text.split(/\r\n?|\n/), 0);
}

function* parse(lines, depth) {
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === "") {
      at += 1;
      continue;
    }
    const { block, next } = oneBlock(lines, at, depth);
    yield block;
    at = next;
  }
}

function oneBlock(lines, at, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return fence(lines, at);
  if (/^(?: {4}|\t)/.test(line)) return indented(lines, at);
  if (RULE.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  const heading = HEADING.exec(line);
  if (heading)
    return {
      block: { kind: "heading", level: heading[1].length, text: heading[2].replace(/[ \t]#+[ \t]*$/, "") },
      next: at + 1,
    };
  if (depth < MAX_DEPTH && QUOTE.test(line)) return quote(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return list(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1]?.trim() ?? "")) return table(lines, at);
  return paragraph(lines, at);
}

function fence(lines, at) {
  const [, mark, language] = FENCE.exec(lines[at]);
  let end = at + 1;
  const closes = (line) => line.trimStart().startsWith(mark) && line.trim().replaceAll(mark[0], "") === "";
  while (end < lines.length && !closes(lines[end])) end += 1;
  return { block: { kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, next: end + 1 };
}

function indented(lines, at) {
  let end = at;
  while (end < lines.length && (/^(?: {4}|\t)/.test(lines[end]) || lines[end].trim() === "")) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.replace(/^(?: {4}|\t)/, ""))
    .join("\n");
  return { block: { kind: "code", language: "", text: text.trimEnd() }, next: end };
}

function quote(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return { block: { kind: "quote", blocks: [...parse(inner, depth + 1)] }, next: end };
}

function list(lines, at, depth) {
  const [, , first] = ITEM.exec(lines[at]);
  const isOrdered = /\d/.test(first);
  const items = [];
  let next = at;
  while (next < lines.length && isItemOf(lines[next], isOrdered)) {
    const item = itemLines(lines, next);
    items.push({ blocks: [...parse(item.lines, depth + 1)] });
    next = item.next;
  }
  return {
    block: { kind: "list", isOrdered, start: isOrdered ? Number.parseInt(first, 10) : 1, items },
    next,
  };
}

function isItemOf(line, isOrdered) {
  const match = ITEM.exec(line);
  return match !== null && !RULE.test(line) && /\d/.test(match[2]) === isOrdered;
}

/** The lines of one item: its first one, those indented below it, and lines that continue its paragraph. */
function itemLines(lines, at) {
  const width = ITEM.exec(lines[at])[0].length;
  const own = [lines[at].slice(width)];
  let next = at + 1;
  for (; next < lines.length; next += 1) {
    const line = lines[next];
    const isIndented = line.slice(0, width).trim() === "" && line.trim() !== "";
    const isBlank = line.trim() === "";
    if (isBlank && !continues(lines, next, width)) break;
    const isLazy = !isBlank && own.at(-1).trim() !== "" && !startsBlock(line);
    if (!isBlank && !isIndented && !isLazy) break;
    own.push(isIndented ? line.slice(width) : line.trimStart());
  }
  while (next < lines.length && lines[next].trim() === "" && ITEM.test(lines[next + 1] ?? "")) next += 1;
  return { lines: own, next };
}

function continues(lines, at, width) {
  const following = lines[at + 1] ?? "";
  return following.trim() !== "" && following.slice(0, width).trim() === "";
}

function startsBlock(line) {
  return [FENCE, RULE, HEADING, QUOTE, ITEM].some((start) => start.test(line));
}

function table(lines, at) {
  const head = cells(lines[at]);
  const rows = [];
  let next = at + 2;
  for (; next < lines.length && lines[next].includes("|") && lines[next].trim() !== ""; next += 1) {
    const row = cells(lines[next]);
    rows.push(head.map((_, index) => row[index] ?? ""));
  }
  return { block: { kind: "table", head, rows }, next };
}

function cells(line) {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraph(lines, at) {
  let end = at + 1;
  while (
    end < lines.length &&
    lines[end].trim() !== "" &&
    !startsBlock(lines[end]) &&
    !UNDERLINE.test(lines[end])
  )
    end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trimStart())
    .join("\n");
  const underline = UNDERLINE.exec(lines[end] ?? "");
  if (underline)
    return { block: { kind: "heading", level: underline[1].startsWith("=") ? 1 : 2, text }, next: end + 1 };
  return { block: { kind: "paragraph", text }, next: end };
}
