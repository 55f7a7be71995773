// The cache: what each request read, wrote and missed, why it missed, what that cost, and what other settings would do.
const P = globalThis.Plimsoll;
const { html } = P;
const { useMemo, useState } = P.hooks;
const COLOURS = ["cache-read", "cache-written", "cache-missed"];
const NOTICEABLE = 0.9; // of the known prefix; a cache that reads less has missed
const CHANGED_TOOLS = 200; // tokens of overhead that estimates do not explain

P.cardFor = (name) => {
  if (!name) return null;
  const bare = name.toLowerCase().split("/").at(-1).replace(/[.@_]/g, "-");
  const names = Object.keys(P.models).sort((a, b) => b.length - a.length);
  return names.find((one) => bare.startsWith(one.toLowerCase().replace(/[.@_]/g, "-"))) ?? null;
};

const prefixOf = (request) => request.parts[0] + request.parts[1] + request.parts[2];

// Why a request read less from the cache than it could have, and how much that was.
P.missOf = (request, before, card, ttl) => {
  const bill = request.bill;
  const lifetime = ttl === "1h" ? 3600 : card?.style === "anthropic" || !card?.lifetimes?.length ? 300 : card.lifetimes[0];
  const change = request.events.find((event) => event.view_after !== event.view_before);
  if (!before) return { kind: "first", text: "First request: nothing was cached yet.", missed: 0 };
  const known = Math.min(before.bill.prompt, bill.prompt);
  const missed = Math.max(0, known - bill.read);
  if (bill.read >= known * NOTICEABLE) return null;
  if (card && bill.prompt < card.minimum)
    return { kind: "minimum", text: `Below the minimum: ${P.count(bill.prompt)} of ${P.count(card.minimum)} tokens.`, missed };
  if (request.usage && before.usage && request.usage.model !== before.usage.model)
    return { kind: "model", text: `Another model: ${P.plain(before.usage.model, 40)} → ${P.plain(request.usage.model, 40)}.`, missed };
  if (change)
    return { kind: "compaction", event: change, missed,
      text: `${P.eventTitle(change)}: the prefix changed after ${P.count(prefixOf(request))} tokens.` };
  const gap = request.at - before.at;
  if (gap > lifetime)
    return { kind: "expired", text: `Expired: ${P.span(gap)} since the last request, and entries live ${P.span(lifetime)}.`, missed };
  const tools = request.parts[0] - before.parts[0];
  if (Math.abs(tools) > CHANGED_TOOLS && Math.abs(tools) > bill.prompt * 0.02)
    return { kind: "tools", text: `Tools or system prompt changed: ${tools > 0 ? "+" : "−"}${P.count(Math.abs(tools))} tokens outside the messages.`, missed };
  if (bill.read > 0)
    return { kind: "breakpoint", text: `Breakpoint moved: reading stopped after ${P.count(bill.read)} of ${P.count(known)} known tokens.`, missed };
  return { kind: "prefix", text: "The provider read nothing: the prefix changed, or its cache dropped the entry.", missed };
};

P.REASONS = {
  first: "First request", expired: "Expired", compaction: "Prefix changed by a compaction", minimum: "Below the minimum",
  breakpoint: "Breakpoint moved", tools: "Tools changed", model: "Other model", prefix: "Prefix changed",
};

// Requests with what was read and written: as reported, or as the simulator has it where nothing was reported.
// What was reported keeps the prices of the model that was used, whatever is chosen under "What if".
function billedRequests(derived, used, chosen, ttl) {
  const { requests } = derived;
  const isReported = requests.some((one) => one.usage && (one.usage.read || one.usage.written));
  const model = isReported ? used : chosen;
  const card = P.models[model];
  const simulated = isReported || !card ? null
    : P.simulate(derived, { model, ttl, threshold: 1, target: 0.2, policy: "never", gap: P.hasTimes(requests) ? 0 : 30 });
  const found = requests.map((one, index) => {
    const usage = one.usage;
    const bill = isReported || !simulated
      ? { read: usage?.read ?? 0, written: usage?.written ?? 0, plain: usage?.input ?? one.total, prompt: usage?.prompt ?? one.total,
          money: usage?.money ?? null }
      : simulatedBill(one, requests[index - 1], card, ttl);
    return { ...one, bill, at: P.hasTimes(requests) ? one.usage?.time ?? one.time : index * 30 };
  });
  found.forEach((one, index) => {
    one.miss = P.missOf(one, found[index - 1], card, ttl);
    one.missCost = one.miss && card ? (one.miss.missed * Math.max(0, (card.prices[3] || card.prices[0]) - card.prices[2])) / 1e6 : null;
  });
  return { requests: found, isReported };
}

// The recorded views, billed by the rules of the card: a view that changed keeps only the prefix before the change.
function simulatedBill(request, before, card, ttl) {
  const lifetime = card.style === "anthropic" ? (ttl === "1h" ? 3600 : 300) : card.lifetimes[0] ?? 300;
  const isAlive = before && (request.time - before.time || 30) < lifetime && card.style !== "none";
  const common = !before ? 0 : before.view === request.view ? Math.min(before.total, request.total) : prefixOf(request);
  const read = isAlive && common >= card.minimum ? common : 0;
  const written = card.style === "anthropic" && request.total >= card.minimum ? request.total - read : 0;
  const plain = request.total - read - written;
  const [input, , cached, write5, write60] = card.prices;
  return { read, written, plain, prompt: request.total,
    money: (read * cached + written * (ttl === "1h" ? write60 : write5) + plain * input) / 1e6 };
}

P.Cache = ({ derived, cursor, onCursor, onMessage, onCompaction }) => {
  const used = P.cardFor(derived.requests.find((one) => one.usage)?.usage.model ?? derived.timeline.session.model);
  const [model, setModel] = useState(used ?? "claude-sonnet-4.5");
  const [ttl, setTtl] = useState("5m");
  const { requests, isReported } = useMemo(() => billedRequests(derived, used, model, ttl), [derived, used, model, ttl]);
  const bars = useMemo(() => requests.map(({ bill }) => [bill.read, bill.written, bill.plain]), [requests]);
  const marks = useMemo(() => requests.filter((one) => one.miss && one.miss.kind !== "first")
    .map((one) => ({ index: one.index, tone: one.miss.kind === "compaction" ? "accent" : "danger" })), [requests]);
  const missed = requests.filter((one) => one.miss);
  const sum = (pick) => requests.reduce((all, one) => all + (pick(one) ?? 0), 0);
  const chosen = requests[cursor];
  const total = sum((one) => one.bill.prompt);
  if (!requests.length) return html`<section class="panel"><${P.Empty} title="No requests yet">Nothing was sent.</${P.Empty}></section>`;
  const describe = (index) => requests[index] && `Request ${index + 1}: ${P.count(requests[index].bill.read)} tokens read from the cache, ` +
    `${P.count(requests[index].bill.written)} written, ${P.count(requests[index].bill.plain)} neither. ${requests[index].miss?.text ?? ""}`;
  return html`<section class="panel" aria-label="Cache">
    ${!isReported && html`<p class="note">The provider reported no cache figures for this session. These are computed with the
      rules and prices of <b>${model}</b>${P.hasTimes(derived.requests) ? "" : ", 30 s between requests"}.</p>`}
    <dl class="figures">
      <${P.Figure} label="Read from cache" value=${P.count(sum((one) => one.bill.read))} note=${P.percent(sum((one) => one.bill.read) / (total || 1))} tone="read" />
      <${P.Figure} label="Written" value=${P.count(sum((one) => one.bill.written))} tone="written" />
      <${P.Figure} label="Neither" value=${P.count(sum((one) => one.bill.plain))} tone="missed" />
      <${P.Figure} label="Misses" value=${P.count(missed.filter((one) => one.miss.kind !== "first").length)}
        note=${`cost ${P.money(missed.some((one) => one.missCost !== null) ? sum((one) => one.missCost) : null)}`} />
      <${P.Figure} label="Cost of requests" value=${P.money(sum((one) => one.bill.money))} note="without summaries" />
    </dl>
    <${P.Chart} bars=${bars} colours=${COLOURS} marks=${marks} cursor=${cursor} onCursor=${onCursor} describe=${describe}
      onOpen=${(index) => onMessage(requests[index].message)} label="Requests by what the cache did. Brackets go to misses." />
    <div class="legend"><span class="legend-title">Request ${P.count(cursor + 1)}</span>
      ${[["read", "Read"], ["written", "Written"], ["plain", "Neither"]].map(([name, label], order) => html`<span class="key">
        <i class=${`swatch ${COLOURS[order]}`}></i>${label} <b>${P.short(chosen?.bill[name] ?? 0)}</b></span>`)}
      <span class="key">${chosen?.miss ? P.visible(chosen.miss.text) : "No miss."}</span></div>
    <${Misses} missed=${missed} onCursor=${onCursor} onCompaction=${onCompaction} onMessage=${onMessage} />
    <${WhatIf} derived=${derived} used=${used} model=${model} setModel=${setModel} ttl=${ttl} setTtl=${setTtl} />
  </section>`;
};

function Misses({ missed, onCursor, onCompaction, onMessage }) {
  const [shown, setShown] = useState(30);
  const listed = missed.toSorted((a, b) => (b.missCost ?? 0) - (a.missCost ?? 0)).slice(0, shown);
  return html`<h3>Misses, most expensive first</h3><div class="table-box" tabindex="0" role="region" aria-label="Cache misses"><table class="misses">
    <thead><tr><th scope="col">Request</th><th scope="col">Reason</th><th scope="col">What happened</th>
      <th scope="col" class="figures-cell">Tokens</th><th scope="col" class="figures-cell">Cost</th></tr></thead>
    <tbody>${listed.map((one) => html`<tr key=${one.index}><td><button class="link" onClick=${() => onCursor(one.index)}>${one.index + 1}</button></td>
      <td><span class=${`tag miss-${one.miss.kind}`}>${P.REASONS[one.miss.kind]}</span></td>
      <td>${P.visible(one.miss.text)} ${one.miss.event
        ? html`<button class="link" onClick=${() => onCompaction(one.miss.event)}>Show the change</button>`
        : html`<button class="link" onClick=${() => onMessage(one.message)}>Open message ${one.message}</button>`}</td>
      <td class="figures-cell">${P.count(one.miss.missed)}</td><td class="figures-cell">${P.money(one.missCost)}</td></tr>`)}</tbody></table></div>
    ${missed.length > shown && html`<button onClick=${() => setShown(shown * 4)}>Show more</button>`}`;
}

function Slider({ label, value, min, max, step, shown, onChange }) {
  return html`<label class="slider"><span>${label} <b>${shown}</b></span>
    <input type="range" min=${min} max=${max} step=${step} value=${value} onInput=${(event) => onChange(Number(event.target.value))} /></label>`;
}

function WhatIf({ derived, used, model, setModel, ttl, setTtl }) {
  const { timeline } = derived;
  const now = useMemo(() => ({ threshold: Math.round((timeline.threshold / timeline.window) * 100) / 100, target: 0.2, policy: "threshold" }), [timeline]);
  const [options, setOptions] = useState(now);
  const [gap, setGap] = useState(P.hasTimes(derived.requests) ? 0 : 30);
  const change = (changed) => setOptions({ ...options, ...changed });
  const window = model === used ? timeline.window : undefined; // which settings may have made smaller than the model's
  const base = useMemo(() => P.simulate(derived, { ...now, model, window, ttl: "5m", gap }), [derived, now, model, gap]);
  const result = useMemo(() => P.simulate(derived, { ...options, model, window, ttl, gap }), [derived, options, model, ttl, gap]);
  const share = base.total.money ? result.total.money / base.total.money - 1 : 0;
  const card = P.models[model];
  return html`<section class="what-if" aria-label="What if"><h3>What if</h3>
    <p class="muted">Simulated on the sizes and times of this session, with the settings below. Change one and see the cost at once.</p>
    <div class="controls">
      <label class="slider"><span>Model</span><select value=${model} onChange=${(event) => setModel(event.target.value)}>
        ${Object.keys(P.models).map((name) => html`<option>${name}</option>`)}</select></label>
      <label class="slider"><span>Policy</span><select value=${options.policy} onChange=${(event) => change({ policy: event.target.value })}>
        <option value="threshold">at the threshold</option><option value="cost">when it pays</option><option value="never">never compact</option></select></label>
      <label class="slider"><span>Cache lifetime</span><select value=${ttl} disabled=${card.style !== "anthropic"} onChange=${(event) => setTtl(event.target.value)}>
        <option value="5m">5 minutes</option><option value="1h">1 hour</option></select></label>
      <${Slider} label="Threshold" value=${options.threshold} min=${0.05} max=${0.95} step=${0.01} shown=${P.percent(options.threshold)}
        onChange=${(threshold) => change({ threshold })} />
      <${Slider} label="Target" value=${options.target} min=${0.1} max=${0.8} step=${0.01} shown=${P.percent(options.target)}
        onChange=${(target) => change({ target })} />
      <${Slider} label="Pause between requests" value=${gap} min=${0} max=${900} step=${10}
        shown=${gap ? P.span(gap) : P.hasTimes(derived.requests) ? "as recorded" : "30 s"} onChange=${setGap} />
      <button onClick=${() => { setOptions(now); setTtl("5m"); setGap(P.hasTimes(derived.requests) ? 0 : 30); }}>Reset</button>
    </div>
    <dl class="figures" aria-live="polite">
      <${P.Figure} label="Cost" value=${P.money(result.total.money)} tone=${share > 0.005 ? "worse" : share < -0.005 ? "better" : ""}
        note=${Math.abs(share) < 0.005 ? "as with the current settings" : `${share > 0 ? "+" : "−"}${P.percent(Math.abs(share))}`} />
      <${P.Figure} label="Compactions" value=${P.count(result.total.compactions)} note=${`summaries ${P.money(result.total.summaries)}`} />
      <${P.Figure} label="Read from cache" value=${P.percent(result.total.read / Math.max(1, result.total.read + result.total.written + result.total.plain))} />
      <${P.Figure} label="Written" value=${P.short(result.total.written)} />
      <${P.Figure} label="Over the window" value=${P.plural(result.total.over, "request")} tone=${result.total.over ? "worse" : ""} />
    </dl></section>`;
}
