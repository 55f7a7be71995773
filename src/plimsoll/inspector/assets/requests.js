// Derives the requests of a session from its timeline: which view was in force, and how large each part was.
//
//   request before assistant message n = references of the view + all messages after it up to n - 1
const P = globalThis.Plimsoll;

P.PARTS = [
  ["tools", "Tools and overhead"],
  ["system", "System prompt"],
  ["head", "First exchange"],
  ["summary", "Summary"],
  ["evidence", "Evidence"],
  ["tail", "Kept messages"],
  ["fresh", "New messages"],
];
const [TOOLS, SYSTEM, HEAD, SUMMARY, EVIDENCE, TAIL, FRESH] = P.PARTS.keys();
// A reference is sent as a row of numbers.
const reference = ([first, last, tokens, node, evidence]) => ({ first, last, tokens, node, evidence });
const FIRST_EXCHANGE = 3; // messages: system prompt, first question and answer

P.derive = (timeline) => {
  const { roles, tokens, times } = timeline.messages;
  const sum = summing(tokens);
  const media = new Map(timeline.messages.media);
  const mediaSum = summing(media.size ? tokens.map((_, index) => media.get(index + 1) ?? 0) : []);
  const views = new Map(timeline.views.map((view) => [view.number, measured(view, roles, sum, mediaSum)]));
  const changes = viewChanges(timeline);
  const requests = [];
  let change = -1, sent = 0;
  for (let n = 1; n <= roles.length; n++) {
    if (roles[n - 1] !== "a") continue;
    const before = change;
    while (change + 1 < changes.length && changes[change + 1].at <= n - 1) change++;
    const current = change < 0 ? undefined : views.get(changes[change].view);
    const parts = current ? withTail(current, n - 1, sent, sum) : wholeLog(roles, n - 1, sent, sum);
    requests.push({
      index: requests.length, message: n, last: n - 1, view: current?.number ?? 0, parts,
      total: parts.reduce((a, b) => a + b, 0), time: times[n - 1], usage: null,
      media: current ? current.media + mediaSum(current.through + 1, n - 1) : mediaSum(1, n - 1),
      events: changes.slice(before + 1, change + 1).map((one) => one.event).filter(Boolean),
    });
    sent = n;
  }
  attachUsage(requests, timeline.requests);
  // What happened after the newest request shows at the end.
  const pending = changes.slice(change + 1).map((one) => one.event).filter(Boolean);
  return { requests, pending, views, sums: sum, changes, hasMedia: media.size > 0, current: views.get(timeline.view) ?? null, timeline };
};

// The sum of any run of a column, from one number to another, in two reads.
function summing(column) {
  const sums = new Float64Array(column.length + 1);
  for (let i = 0; i < column.length; i++) sums[i + 1] = sums[i] + column[i];
  return (first, last) => (last < first ? 0 : sums[Math.min(last, column.length)] - sums[Math.min(first - 1, column.length)]);
}

// When each view came into force, as a position in the log.
function viewChanges(timeline) {
  const { times } = timeline.messages;
  const created = timeline.session.created;
  const position = (time) => {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= time - created + 0.0005) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const known = new Map(timeline.views.map((view) => [view.number, view]));
  const seen = new Set();
  const changes = [];
  for (const event of timeline.events) {
    if (event.view_after === event.view_before) continue;
    const view = known.get(event.view_after);
    const at = event.outcome === "compacted" && view?.log_length ? view.log_length : position(event.time);
    changes.push({ at, view: event.view_after, event, time: event.time });
    seen.add(event.view_after);
  }
  // What a fork inherited has no event of its own.
  for (const view of timeline.views)
    if (!seen.has(view.number) && view.time < created) changes.push({ at: view.log_length, view: view.number, time: view.time });
  return changes.sort((a, b) => a.time - b.time);
}

// The parts of a view that do not change while it is in force.
function measured(view, roles, sum, mediaSum) {
  const parts = new Array(P.PARTS.length).fill(0);
  let media = 0; // bytes; a message that was shortened has none
  let behind = false; // behind the first summary
  const references = view.references.map(reference);
  for (const one of references) {
    if (one.node) {
      parts[SUMMARY] += one.tokens - one.evidence;
      parts[EVIDENCE] += one.evidence;
      behind = true;
    } else {
      const size = one.tokens ?? sum(one.first, one.last);
      if (one.tokens === null) media += mediaSum(one.first, one.last);
      if (behind) parts[TAIL] += size;
      else if (one.first === 1 && roles[0] === "s") {
        const system = one.tokens ?? sum(1, 1);
        parts[SYSTEM] += system;
        parts[HEAD] += size - system;
      } else parts[HEAD] += size;
    }
  }
  return { ...view, references, parts, media };
}

function withTail(view, last, sent, sum) {
  const parts = [...view.parts];
  const from = Math.max(view.through + 1, sent);
  parts[TAIL] += sum(view.through + 1, Math.min(last, from - 1));
  parts[FRESH] += sum(from, last);
  return parts;
}

function wholeLog(roles, last, sent, sum) {
  const parts = new Array(P.PARTS.length).fill(0);
  const system = roles[0] === "s" ? 1 : 0;
  const head = Math.min(FIRST_EXCHANGE, Math.max(last, system));
  const from = Math.max(sent, head + 1);
  parts[SYSTEM] = sum(1, system);
  parts[HEAD] = sum(system + 1, Math.min(head, last));
  parts[TAIL] = sum(head + 1, Math.min(last, from - 1));
  parts[FRESH] = sum(from, last);
  return parts;
}

// Usage has a time and no message. It is stored before the answer that it belongs to, so it belongs to the next one.
function attachUsage(requests, columns) {
  let request = 0;
  for (let i = 0; i < columns.times.length; i++) {
    if (columns.purpose[i] !== "turn") continue;
    while (request < requests.length && requests[request].time < columns.times[i]) request++;
    if (request >= requests.length) break;
    const prompt = columns.input[i] + columns.cache_read[i] + columns.cache_write[i];
    const one = requests[request];
    one.usage = {
      model: columns.models[columns.model[i]], input: columns.input[i], read: columns.cache_read[i],
      written: columns.cache_write[i], output: columns.output[i], money: columns.money[i], prompt,
      time: columns.times[i],
    };
    if (prompt > one.total) {
      one.parts[TOOLS] = prompt - one.total;
      one.total = prompt;
    }
    request++;
  }
}

// What became of a message in a view: kept, shortened, summarised.
P.stateOf = (derived, number) => {
  const view = derived.current;
  if (!view) return "kept";
  if (number > view.through) return "kept";
  for (const one of view.references) {
    if (one.node || number < one.first || number > one.last) continue;
    // A prompt with a note behind it is whole.
    return one.tokens === null || one.tokens >= derived.timeline.messages.tokens[number - 1] ? "kept" : "shortened";
  }
  return "summarised";
};

P.viewTokens = (derived) => {
  const { timeline } = derived;
  const last = timeline.session.messages;
  if (!derived.current) return derived.sums(1, last);
  return derived.current.parts.reduce((a, b) => a + b, 0) + derived.sums(derived.current.through + 1, last);
};
