// Text of a conversation as data: it is only ever put into text nodes, and signs that would act are shown by name.
const P = (globalThis.Plimsoll ??= {});
const { h } = globalThis.preact;
P.html = globalThis.htm.bind(h);
P.hooks = globalThis.preactHooks;

// Controls but tab and line feed; bidirectional and invisible signs; tags; half surrogate pairs.
const ACTS = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb]|\\udb40[\\udc00-\\udc7f]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|" +
    "(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  "g",
);
const JOINED = /\p{Extended_Pictographic}\ufe0f?[\u{1f3fb}-\u{1f3ff}]?$/u; // before a joiner that makes one picture of two
const NAMES = {
  0x1b: "ESC", 0x07: "BEL", 0x08: "BS", 0x0d: "CR", 0x00: "NUL", 0x7f: "DEL", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ",
  0x200e: "LRM", 0x200f: "RLM", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO", 0x202e: "RLO",
  0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM", 0xad: "SHY", 0x2028: "LSEP", 0x2029: "PSEP",
};

function signName(sign) {
  const code = sign.codePointAt(0);
  return NAMES[code] ?? "U+" + code.toString(16).toUpperCase().padStart(4, "0");
}

// The text as strings and marks for signs that would act.
P.visible = (text) => {
  const source = String(text ?? "");
  const pieces = [];
  let at = 0;
  for (const found of source.matchAll(ACTS)) {
    const sign = found[0];
    if (sign === "\r" && source[found.index + 1] === "\n") continue;
    if (sign === "\u200d" && JOINED.test(source.slice(Math.max(0, found.index - 6), found.index))) continue;
    if (found.index > at) pieces.push(source.slice(at, found.index));
    const code = "U+" + sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    pieces.push(P.html`<span class="sign" title=${"Control character " + code}>${signName(sign)}</span>`);
    at = found.index + sign.length;
  }
  if (at < source.length) pieces.push(source.slice(at));
  return pieces;
};

// The same as one line of plain text, for places that take nothing else: titles, labels, list rows.
P.plain = (text, limit = 300) => {
  const source = String(text ?? "").slice(0, limit * 2);
  const line = source.replace(/\s+/g, " ").replace(ACTS, (sign, at) =>
    sign === "\u200d" && JOINED.test(source.slice(Math.max(0, at - 6), at)) ? sign : `‹${signName(sign)}›`);
  return line.length > limit ? line.slice(0, limit) + "…" : line;
};

const SHOWN = 6000; // characters at once; a click shows more

// A text of any length: the beginning, and a button for more.
P.LongText = ({ text, marks = [], className = "" }) => {
  const [shown, show] = P.hooks.useState(SHOWN);
  const whole = String(text ?? "");
  const cut = whole.slice(0, shown);
  return P.html`<div class=${"text " + className} dir="auto">
    ${marks.length ? marked(cut, marks) : P.visible(cut)}
    ${whole.length > shown &&
    P.html`<button class="more" onClick=${() => show(shown * 4)}>
      Show more (${P.count(whole.length - shown)} characters left)</button>`}
  </div>`;
};

// Places of a text that a search found: [[start, end], …].
function marked(text, marks) {
  const pieces = [];
  let at = 0;
  for (const [start, end] of marks) {
    if (start < at || start >= text.length) continue;
    pieces.push(...P.visible(text.slice(at, start)), P.html`<mark>${P.visible(text.slice(start, end))}</mark>`);
    at = end;
  }
  return [...pieces, ...P.visible(text.slice(at))];
}
P.marked = marked;
