//! Texts that attack a web page. Each sets `window.attacked`, opens a dialog, contacts another origin, or hides or
//! moves what the page shows.

use guests::host;

/// A server that no page may contact.
pub(crate) fn origin() -> String {
    host::setting("origin").unwrap_or_else(|| "http://127.0.0.1:9".to_owned())
}

/// All texts of this file.
pub(crate) fn texts() -> Vec<String> {
    let zalgo = format!("a{}", "\u{300}\u{325}".repeat(100));
    MARKUP
        .iter()
        .chain(&CHARACTERS)
        .map(|text| text.replace("ORIGIN", &origin()))
        .chain([zalgo, "W".repeat(900), "word ".repeat(180)])
        .collect()
}

const MARKUP: [&str; 18] = [
    "<script>window.attacked='script';alert(1);fetch('ORIGIN/script')</script>",
    "<img src=x onerror=\"window.attacked='img';alert(2)\">",
    "\"><svg onload=window.attacked='svg'>",
    "' autofocus onfocus='window.attacked=`focus`' x='",
    "<iframe srcdoc=\"<script>parent.attacked='iframe'</script>\"></iframe>",
    "<object data=\"ORIGIN/object\"></object><embed src=\"ORIGIN/embed\">",
    "<style>* { display: none !important } body { background: url(ORIGIN/css) }</style>",
    "<link rel=stylesheet href=\"ORIGIN/link.css\"><base href=\"ORIGIN/\">",
    "<meta http-equiv=refresh content=\"0;url=ORIGIN/refresh\">",
    "<form action=\"ORIGIN/form\"><button autofocus>Approve</button></form>",
    "</title></textarea></script></style><script>window.attacked='end'</script>",
    "<a href=\"javascript:window.attacked='link'\">Overview</a>",
    "javascript:window.attacked='text'",
    "{{constructor.constructor('window.attacked=1')()}} ${window.attacked=1} #{1}",
    "<!-- <![CDATA[ <!--",
    "<div id=main style='position:fixed;inset:0;z-index:9999;background:red'>",
    "&lt;script&gt;window.attacked='entity'&lt;/script&gt;&#x3c;b&#x3e;",
    "<details open ontoggle=window.attacked='toggle'><summary>x</summary></details>",
];

/// Characters that reverse, hide or end the text next to them.
const CHARACTERS: [&str; 8] = [
    "approved \u{202e}detcejer\u{2066} and \u{2067} right",
    "\u{200f}\u{202b}\u{2068}never closed",
    "invisible\u{200b}\u{2060}\u{feff}\u{e0041}\u{e007f}",
    "nul \0 bell \u{7} escape \u{1b}[2J\u{1b}]0;title\u{7} \u{9b}31m back\u{8}\u{8}\u{8}\u{8}",
    "lines\r\none\ntwo\u{2028}three\u{2029}four\u{85}five\u{b}six",
    "\r\ndata: {}\r\n\r\nevent: overview\r\ndata: {\"teams\":[]}\r\n\r\n",
    "\u{fffe}\u{ffff}\u{10ffff}\u{ad}\u{34f}\u{115f}",
    "\u{fdfd}\u{fdfd}\u{fdfd}\u{12031}\u{a9c5}",
];

pub(crate) const TEN_MEBIBYTES: usize = 10 << 20;

/// A text of this size. All texts of one call together are limited to 16 MiB.
pub(crate) fn huge(bytes: usize) -> String {
    "huge ".repeat(bytes / 5)
}

/// A text as a string in JSON.
pub(crate) fn json_string(text: &str) -> String {
    let escaped = text.chars().flat_map(|letter| match letter {
        '"' | '\\' => vec!['\\', letter],
        letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)).chars().collect(),
        letter => vec![letter],
    });
    format!("\"{}\"", escaped.collect::<String>())
}
