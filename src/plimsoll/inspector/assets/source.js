// Where the data comes from: the server that the page came from, or the file that it is in.
const P = globalThis.Plimsoll;
const PAGE = 100; // messages that are asked for at once
const PREVIEW = 600; // characters of each text in a list
const WHOLE = 20000; // characters of each text of one message
const KEY = "plimsoll-key";

P.Problem = class extends Error {
  constructor(status, title, detail) {
    super(detail || title);
    this.status = status;
    this.title = title;
  }
};

class HttpSource {
  isStatic = false;
  key = sessionStorage.getItem(KEY) ?? "";

  // A link from the terminal has a token that works once; it never leaves the address bar otherwise.
  async enter(token) {
    const answer = await fetch("/inspect/enter", { method: "POST", headers: { "x-plimsoll-token": token } });
    if (!answer.ok) throw await problem(answer);
    this.keep((await answer.json()).key);
  }

  keep(key) {
    this.key = key;
    if (key) sessionStorage.setItem(KEY, key);
    else sessionStorage.removeItem(KEY);
  }

  async ask(method, path, body, signal) {
    const headers = this.key ? { "x-plimsoll-key": this.key } : {};
    if (body !== undefined) headers["content-type"] = "application/json";
    const sent = { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" };
    const answer = await fetch(path, sent).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new P.Problem(0, "No answer", "The server does not answer. Check that plimsoll is still running.");
    });
    if (!answer.ok) throw await problem(answer);
    return answer.json();
  }

  get(path, signal) {
    return this.ask("GET", path, undefined, signal);
  }

  timeline(id) {
    return this.get(`/sessions/${id}/timeline`);
  }

  async page(id, number) {
    const first = number * PAGE + 1;
    return (await this.get(`/sessions/${id}/messages?first=${first}&limit=${PAGE}&clip=${PREVIEW}`)).messages;
  }

  async message(id, number) {
    return (await this.get(`/sessions/${id}/messages?first=${number}&limit=1&clip=${WHOLE}`)).messages[0];
  }

  compaction(id, number) {
    return this.get(`/sessions/${id}/compactions/${number}`);
  }

  search(query) {
    const { session, ...others } = query;
    const given = Object.entries(others).filter(([, value]) => value !== "" && value !== null && value !== undefined);
    const path = session ? `/sessions/${session}/search` : "/search";
    return this.get(`${path}?${new URLSearchParams(given)}`);
  }

  // Calls `changed` for every new state of a session until `signal` ends it. EventSource cannot send a key.
  async watch(id, changed, signal) {
    const headers = this.key ? { "x-plimsoll-key": this.key } : {};
    const answer = await fetch(`/sessions/${id}/live`, { headers, signal, cache: "no-store" });
    if (!answer.ok) throw await problem(answer);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const data = block.split("\n").find((line) => line.startsWith("data: "));
        if (data) changed(JSON.parse(data.slice(6)));
      }
    }
  }
}

class StaticSource {
  isStatic = true;

  constructor(data) {
    this.session = data.session;
    this.answers = data.answers;
    this.messages = [];
    for (const [path, answer] of Object.entries(data.answers))
      if (path.includes("/messages?")) for (const one of answer.messages) this.messages[one.number] = one;
  }

  async timeline(id) {
    return this.answers[`/sessions/${id}/timeline`];
  }

  async page(_id, number) {
    return this.messages.slice(number * PAGE + 1, (number + 1) * PAGE + 1);
  }

  async message(_id, number) {
    return this.messages[number];
  }

  async compaction(id, number) {
    const found = this.answers[`/sessions/${id}/compactions/${number}`];
    if (!found) throw new P.Problem(404, "Not in this file", "This compaction is not in the file.");
    return found;
  }

  async search({ text, mode, role, limit = 100 }) {
    const find = finder(text, mode);
    const hits = [];
    for (const one of this.messages) {
      if (!one || (role && one.message.role !== role) || hits.length >= limit) continue;
      const words = P.wordsOf(one.message);
      const [at, length] = find(words);
      if (at < 0) continue;
      const from = Math.max(0, at - 80);
      hits.push({
        session: this.session, number: one.number, role: one.message.role, time: one.time,
        snippet: words.slice(from, at + length + 160), marks: [[at - from, at - from + length]],
      });
    }
    return { hits, next: null, complete: true };
  }

  async watch() {}
}

// Where a text has all words, an exact text or a pattern: position and length, or -1.
function finder(text, mode) {
  if (mode === "regex") {
    let pattern;
    try {
      pattern = new RegExp(text, "iu");
    } catch (error) {
      throw new P.Problem(422, "Not a pattern", error.message);
    }
    return (words) => {
      const found = pattern.exec(words);
      return found ? [found.index, found[0].length] : [-1, 0];
    };
  }
  const wanted = (mode === "substring" ? [text] : text.split(/\s+/)).filter(Boolean).map((one) => one.toLowerCase());
  return (words) => {
    const lower = words.toLowerCase();
    return wanted.length && wanted.every((one) => lower.includes(one)) ? [lower.indexOf(wanted[0]), wanted[0].length] : [-1, 0];
  };
}

async function problem(answer) {
  let told = {};
  try {
    told = await answer.json();
  } catch {
    // Not every error comes from the gateway itself.
  }
  return new P.Problem(answer.status, told.title ?? answer.statusText, told.detail ?? "");
}

P.PAGE_SIZE = PAGE;
P.openSource = () => {
  const stored = document.getElementById("data");
  return stored ? new StaticSource(JSON.parse(stored.textContent)) : new HttpSource();
};
