// The messages of the log: a list of any length, and the one that is chosen beside it.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useMemo, useReducer, useRef, useState } = P.hooks;
const ROW = 28; // pixels, as in the style sheet
const KEPT_PAGES = 80;

// Pages of previews, fetched when a row of them is on the screen.
function usePages(source, id, version) {
  const pages = useRef(new Map());
  const asked = useRef(new Set());
  const [, redraw] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    pages.current.clear();
    asked.current.clear();
    redraw();
  }, [source, id]);
  useEffect(() => {
    // The last page may have grown.
    const last = Math.max(-1, ...pages.current.keys());
    pages.current.delete(last);
    redraw();
  }, [version]);
  return (number) => {
    const page = Math.floor((number - 1) / P.PAGE_SIZE);
    const found = pages.current.get(page);
    if (!found && !asked.current.has(page)) {
      asked.current.add(page);
      source.page(id, page).then(
        (messages) => {
          pages.current.set(page, messages);
          if (pages.current.size > KEPT_PAGES) pages.current.delete(pages.current.keys().next().value);
        },
        () => {},
      ).finally(() => {
        asked.current.delete(page);
        redraw();
      });
    }
    return found?.[(number - 1) % P.PAGE_SIZE];
  };
}

function Row({ number, role, tokens, stored, state, isPinned }) {
  return html`<span class="number">${number}</span>
    <span class=${`role role-${role}`}>${P.ROLES[role]}</span>
    <span class="preview" dir="auto">${stored ? P.plain(P.wordsOf(stored.message), 180) : "…"}</span>
    ${isPinned && html`<span class="tag pin">pinned</span>`}
    ${state !== "kept" && html`<span class=${`tag ${state}`}>${state}</span>`}
    <span class="tokens">${P.short(tokens)}</span>`;
}

P.Messages = ({ session, source, derived, chosen, onChoose, onAction, filter, onFilter }) => {
  const { timeline } = derived;
  const { roles, tokens } = timeline.messages;
  const pinned = useMemo(() => new Set(timeline.pins), [timeline]);
  const numbers = useMemo(() => {
    if (!filter.role && !filter.state) return null;
    const found = [];
    for (let n = 1; n <= roles.length; n++)
      if ((!filter.role || roles[n - 1] === filter.role) &&
          (!filter.state || (filter.state === "pinned" ? pinned.has(n) : P.stateOf(derived, n) === filter.state)))
        found.push(n);
    return found;
  }, [derived, filter]);
  const count = numbers ? numbers.length : roles.length;
  const numberAt = (index) => (numbers ? numbers[index] : index + 1);
  const indexOf = (number) => (numbers ? numbers.indexOf(number) : number - 1);
  const at = usePages(source, session, roles.length);
  const [reveal, setReveal] = useState(null);
  useEffect(() => {
    if (chosen) setReveal({ index: indexOf(chosen.number), centre: !chosen.isNear });
  }, [chosen, filter]);
  return html`<section class="panel split" aria-label="Messages">
    <div class="list-side">
      <div class="filters">
        <label>Role <select value=${filter.role} onChange=${(event) => onFilter({ ...filter, role: event.target.value })}>
          <option value="">all</option>${Object.entries(P.ROLES).map(([letter, name]) =>
            html`<option value=${letter}>${name}</option>`)}</select></label>
        <label>State <select value=${filter.state} onChange=${(event) => onFilter({ ...filter, state: event.target.value })}>
          <option value="">all</option><option value="kept">in the view</option><option value="shortened">shortened</option>
          <option value="summarised">summarised</option><option value="pinned">pinned</option></select></label>
        <span class="muted">${P.plural(count, "message")}</span>
      </div>
      <${P.VirtualList} name="message" count=${count} height=${ROW} label="Messages of the session" reveal=${reveal}
        selected=${chosen ? indexOf(chosen.number) : -1}
        onSelect=${(index, isNear, isOpened = false) => onChoose({ number: numberAt(index), isNear, isOpened })}
        row=${(index) => {
          const number = numberAt(index);
          return html`<${Row} number=${number} role=${roles[number - 1]} tokens=${tokens[number - 1]} stored=${at(number)}
            state=${P.stateOf(derived, number)} isPinned=${pinned.has(number)} />`;
        }} />
    </div>
    <${Detail} session=${session} source=${source} derived=${derived} number=${chosen?.number} isOpened=${chosen?.isOpened} onAction=${onAction}
      isPinned=${pinned.has(chosen?.number)} onClose=${() => onChoose(null)} />
  </section>`;
};

function Detail({ session, source, derived, number, isOpened, isPinned, onAction, onClose }) {
  const element = useRef(null);
  const known = number && number <= derived.timeline.session.messages;
  const state = P.useLoaded(() => (known ? source.message(session, number) : null), [source, session, number]);
  useEffect(() => {
    // On a narrow screen the message stands below the list, out of sight.
    if (isOpened && matchMedia("(max-width: 900px)").matches) element.current?.scrollIntoView({ block: "start" });
  }, [number, isOpened]);
  if (!known)
    return html`<div class="detail"><${P.Empty} title="No message chosen">
      Choose a message in the list, or a bar in the timeline.</${P.Empty}></div>`;
  const fate = P.stateOf(derived, number);
  const stored = state.value;
  return html`<article ref=${element} class="detail" aria-label=${`Message ${number}`}>
    <header class="detail-head">
      <h2>Message ${number}</h2>
      <span class=${`tag ${fate}`}>${fate === "kept" ? "in the view" : fate}</span>
      ${isPinned && html`<span class="tag pin">pinned</span>`}
      <span class="muted">${P.count(derived.timeline.messages.tokens[number - 1])} tokens
        ${stored && html` · ${P.clock(stored.time)}`}</span>
      <button class="plain close-detail" aria-label="Close message" onClick=${onClose}>✕</button>
    </header>
    ${!source.isStatic && html`<div class="buttons">
      <button onClick=${() => onAction({ kind: isPinned ? "unpin" : "pin", number })}>${isPinned ? "Unpin" : "Pin"}</button>
      <button disabled=${fate === "summarised"} onClick=${() => onAction({ kind: "drop", number })}>Drop from view</button>
      <button onClick=${() => onAction({ kind: "fork", number })}>Fork here</button>
    </div>`}
    ${stored && stored.number === number
      ? html`<${P.MessageBody} key=${number} message=${stored.message} />
          ${stored.clipped && html`<p class="muted">Long texts are cut here. The terminal shows
            all of the message: <code>plimsoll sessions show ${session}</code></p>`}`
      : html`<${P.Loading} state=${state} what="Message" />`}
  </article>`;
}
