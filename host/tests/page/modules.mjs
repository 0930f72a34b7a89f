// The parts of the page that only compute: URI templates, Markdown, types of images, differences, hidden characters.
// They run in the browser, as files of the server.
import assert from "node:assert/strict";
import { Window } from "./browser.mjs";
import { check } from "./checks.mjs";
import { heading } from "./views.mjs";

export async function run(server) {
  const window = await Window.open(server, { token: true });
  const { page } = window;
  await heading(page, "Overview").waitFor();
  await check("modules: URI templates are expanded as in RFC 6570", () => templates(page));
  await check("modules: hidden characters become visible", () => hidden(page));
  await check("modules: Markdown is divided into blocks and spans", () => markdown(page));
  await check("modules: Markdown that is meant to take long does not", () => hostileMarkdown(page));
  await check("modules: images are recognised by their bytes", () => images(page));
  await check("modules: differences between texts", () => differences(page));
  await check("modules: the labels of an axis for counts are whole numbers", () => wholeAxis(page));
  await check("modules: elements that are dangerous cannot be created", () => elements(page));
  await window.close();
}

/** Calls a function of a file of the page. The arguments and the result are JSON. */
const call = (page, file, name, ...values) => page.evaluate(async ([path, exported, list]) => {
  const result = (await import(path))[exported](...list);
  return result?.[Symbol.iterator] && typeof result !== "string" ? [...result] : result;
}, [`/assets/${file}`, name, values]);

const VALUES = { var: "value", hello: "Hello World!", path: "/foo/bar", list: "red,green", x: "1024", y: "768", empty: "", half: "50%" };
const EXPANSIONS = [
  ["{var}", "value"], ["{hello}", "Hello%20World%21"], ["{half}", "50%25"], ["O{empty}X", "OX"], ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["?{x,empty}", "?1024"], ["{+path}/here", "/foo/bar/here"], ["{+hello}", "Hello%20World!"], ["{#path,x}/here", "#/foo/bar,1024/here"],
  ["X{.x,y}", "X.1024.768"], ["{/var,x}/here", "/value/1024/here"], ["{;x,y}", ";x=1024;y=768"], ["{?x,y}", "?x=1024&y=768"],
  ["?fixed=yes{&x}", "?fixed=yes&x=1024"], ["{var:3}", "val"], ["{+path:6}/here", "/foo/b/here"], ["{/list*}", "/red/green"],
  ["{?list*}", "?list=red&list=green"], ["{__proto__}{constructor}", ""],
];

async function templates(page) {
  for (const [template, expected] of EXPANSIONS) {
    assert.equal(await call(page, "content/uri_template.js", "expand", template, VALUES), expected, template);
  }
  const names = await call(page, "content/uri_template.js", "variables", "a{b,c*}{?d:3}{b}");
  assert.deepEqual(names.map(({ name }) => name), ["b", "c", "d"]);
  assert.equal(await call(page, "content/uri_template.js", "variables", "{not a variable}"), null);
}

async function hidden(page) {
  const plain = (text) => call(page, "app/text.js", "plain", text, 200);
  const cases = [
    ["a\u202eb", "a⟨U+202E⟩b"], ["a\u0000b\u001b[31m", "a⟨U+0000⟩b⟨U+001B⟩[31m"], ["two\nlines", "two↵lines"], ["z\u200bw", "z⟨U+200B⟩w"],
    ["\u{e0041}", "⟨U+E0041⟩"], ["\ufeffx", "⟨U+FEFF⟩x"], ["\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"], ["a\u00adb", "a⟨U+00AD⟩b"],
    ["a\u200db", "a⟨U+200D⟩b"], ["👩\u200d💻 نمی\u200cدانم ❤\ufe0f", "👩\u200d💻 نمی\u200cدانم ❤\ufe0f"], ["grüße", "grüße"],
    [`z${"\u0301".repeat(150)}`, `z${"\u0301".repeat(6)}`],
  ];
  for (const [text, expected] of cases) assert.equal(await plain(text), expected, JSON.stringify(text));
  const cut = await call(page, "app/text.js", "plain", "😀".repeat(100), 5);
  assert.equal(cut, "😀😀…", "a character was divided");
}

async function markdown(page) {
  const text = "# One\n\nA *b* and `c`\n\n- x\n  - y\n- z\n\n> q\n\n```rust\nlet a;\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n---\nTwo\n===\n<b>no</b>\n";
  const kinds = (await call(page, "content/markdown_blocks.js", "blocksOf", text)).map(({ kind }) => kind);
  assert.deepEqual(kinds, ["heading", "paragraph", "list", "quote", "code", "table", "rule", "heading", "paragraph"]);
  const spans = await call(page, "content/markdown_inline.js", "spansOf", "a **b *c* d** [t](javascript:x) ![i](u) snake_case_x \\*");
  assert.deepEqual(spans.map((span) => span.kind ?? span), ["a ", "strong", " ", "link", " ", "image", " snake_case_x ", "*"]);
}

/** Each of these would take minutes if the time grew with the square of the text, or fill the page with elements. */
const LONG = [
  "[", "*a ", "**a", "`", "![", "\\[", "[a](", "_a", "> ", "- ", "* ", "# ", " #", "|", "| a ", "|-", "```\n", "    x\n",
  "- a\n", "1. a\n   - b\n", "a\n", "-", "=", " ", "a|b\n-|-\n", "\u202e",
].flatMap((part) => [part.repeat(Math.ceil(300_000 / part.length)), `x\n\n${part.repeat(1000)}\n\n`.repeat(100)]);

async function hostileMarkdown(page) {
  for (const text of LONG) {
    const { took, count } = await page.evaluate(async (source) => {
      const { markdownView } = await import("/assets/content/markdown_view.js");
      const start = performance.now();
      const view = markdownView(source);
      return { took: performance.now() - start, count: view.querySelectorAll("*").length };
    }, text);
    const what = `${JSON.stringify(text.slice(0, 20))} took ${took.toFixed(0)} ms and has ${count} elements`;
    assert.ok(took < 30_000 && count < 60_000, what);
  }
}

async function images(page) {
  const type = (bytes) => page.evaluate(async (list) => (await import("/assets/content/image_type.js")).imageType(new Uint8Array(list)), [...bytes]);
  const png = Buffer.from("89504e470d0a1a0a0000000d49484452000000020000000308060000", "hex");
  assert.deepEqual(await type(png), { type: "image/png", width: 2, height: 3 });
  assert.deepEqual(await type(Buffer.from("GIF89a\x05\x00\x06\x00", "latin1")), { type: "image/gif", width: 5, height: 6 });
  for (const other of ["", "<svg xmlns='http://www.w3.org/2000/svg'/>", "\x89PNG", "%PDF-1.7", "\xff\xd8\xff", "RIFF____WEBP"]) {
    assert.equal(await type(Buffer.from(other, "latin1")), null, other);
  }
}

async function differences(page) {
  const compare = async (before, after) =>
    (await call(page, "parts/diff.js", "compareLines", before, after)).map(({ kind, line }) => ({ added: "+", removed: "-", same: " " })[kind] + line);
  assert.deepEqual(await compare("a\nb\nc", "a\nx\nc"), [" a", "-b", "+x", " c"]);
  assert.deepEqual(await compare("", "a"), ["+a"]);
  assert.deepEqual(await compare("a", ""), ["-a"]);
  assert.equal((await compare("a\n".repeat(5000), "b\n".repeat(5000))).length, 10_002);
}

async function wholeAxis(page) {
  for (const value of [0, 1, 2, 3, 7, 10, 14, 15, 99, 1000, 12_345]) {
    const top = await call(page, "parts/chart_scale.js", "wholeAxisTop", value);
    assert.ok(top > value && top % 2 === 0 && top <= Math.max(2, 1.6 * value + 2), `${value}: ${top}`);
  }
}

/** One function creates all elements of the page; it must refuse what could run or load something. */
async function elements(page) {
  const refused = (tag, props) => page.evaluate(async ([name, attributes]) => {
    const { h } = await import("/assets/app/dom.js");
    try {
      h(name, attributes);
      return false;
    } catch {
      return true;
    }
  }, [tag, props]);
  const bad = [
    ["a", { href: "javascript:1" }], ["a", { href: "//evil.example" }], ["a", { href: " #x" }], ["img", { src: "https://evil.example" }],
    ["img", { src: "data:text/html,x" }], ["p", { onclick: "x" }], ["p", { ONCLICK: "x" }], ["p", { style: "color:red" }],
    ["iframe", { srcdoc: "x" }], ["form", { action: "/x" }],
  ];
  for (const [tag, props] of bad) assert.ok(await refused(tag, props), JSON.stringify([tag, props]));
  assert.equal(await refused("a", { href: "#/overview" }), false);
}
