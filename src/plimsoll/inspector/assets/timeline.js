// The timeline: every request of the session on one scale, and its compactions.
const P = globalThis.Plimsoll;
const { html } = P;
const { useMemo } = P.hooks;
const COLOURS = P.PARTS.map(([name]) => `part-${name}`);

P.eventTone = (event) =>
  event.outcome === "refused" ? "warn" : event.outcome === "compacted" ? "accent" : "edited";

P.eventTitle = (event) => {
  if (event.outcome === "refused") return `Compaction refused (${event.trigger})`;
  if (event.outcome === "undone") return "Compaction undone";
  if (event.outcome === "redone") return "Compaction redone";
  if (event.outcome === "edited") return `Edited by ${P.plain(event.author, 40) || "a person"}`;
  return `Compaction ${event.number} (${event.trigger})`;
};

P.describeRequest = (request, total) => {
  if (!request) return "No requests";
  const parts = P.PARTS.map(([, label], order) => request.parts[order] && `${label} ${P.count(request.parts[order])}`);
  return `Request ${request.index + 1} of ${total}, before message ${request.message}, ${P.count(request.total)} tokens: ` +
    [...parts, request.media && `images and files ${P.bytes(request.media)}`].filter(Boolean).join(", ");
};

P.Timeline = ({ derived, cursor, onCursor, onOpen, onCompaction }) => {
  const { requests, timeline } = derived;
  const bars = useMemo(() => requests.map((one) => one.parts), [derived]);
  const media = useMemo(() => (derived.hasMedia ? requests.map((one) => one.media) : null), [derived]);
  const marks = useMemo(
    () => [...requests.map((one) => one.events), derived.pending].flatMap((events, index) =>
      events.map((event) => ({ index, tone: P.eventTone(event), event }))),
    [derived],
  );
  const lines = useMemo(
    () => [
      { value: timeline.threshold, label: `threshold ${P.short(timeline.threshold)}`, tone: "warn" },
      { value: timeline.window, label: `window ${P.short(timeline.window)}`, tone: "danger" },
    ],
    [derived],
  );
  const request = requests[cursor];
  if (!requests.length)
    return html`<${P.Empty} title="No requests yet">The first bar appears when the model has answered.</${P.Empty}>`;
  return html`<section class="panel" aria-label="Timeline">
    <${P.Chart} bars=${bars} strip=${media} colours=${COLOURS} lines=${lines} marks=${marks} cursor=${cursor} onCursor=${onCursor}
      onOpen=${onOpen} describe=${(index) => P.describeRequest(requests[index], requests.length)}
      label="Requests by size. Left and right arrows choose a request, plus and minus zoom, brackets go to compactions." />
    <div class="legend">
      <span class="legend-title">Request ${P.count(cursor + 1)} of ${P.count(requests.length)}
        ${request && html` · <strong>${P.count(request.total)}</strong> tokens`}</span>
      ${P.PARTS.map(([name, label], order) => html`<span class="key"><i class=${`swatch part-${name}`}></i>${label}
        <b>${P.short(request?.parts[order] ?? 0)}</b></span>`)}
      ${media && html`<span class="key"><i class="swatch part-media"></i>Images and files
        <b>${P.bytes(request?.media ?? 0)}</b></span>`}
    </div>
    ${marks.length > 0 && html`<div class="marks" role="group" aria-label="Compactions">
      ${marks.map(({ event, index }) => html`<button class=${`mark ${P.eventTone(event)}`} key=${event.number}
        onClick=${() => { onCursor(index); onCompaction(event); }} title=${P.plain(event.reason)}>
        <b>${P.eventTitle(event)}</b>
        <span>${P.short(event.tokens_before)} → ${P.short(event.tokens_after)}</span>
        ${event.outcome === "compacted" && html`<span>${P.span(event.waited)} wait</span><span>${P.money(event.money)}</span>`}</button>`)}
    </div>`}
  </section>`;
};
