// Search in one session or in all, and the list of sessions.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useRef, useState } = P.hooks;
const NOTHING = { hits: [], next: null, complete: true, asked: false };

P.Search = ({ session, source, query, onQuery, onHit }) => {
  const [page, setPage] = useState(NOTHING);
  const [error, setError] = useState(null);
  const asked = useRef(0);
  const run = async (cursor) => {
    const number = ++asked.current;
    setError(null);
    try {
      const found = await source.search({
        text: query.text, mode: query.mode, role: query.role, tool: query.tool, file: query.file,
        errors: query.errors ? "true" : "", limit: 50, cursor, session: query.everywhere ? "" : session,
      });
      if (number !== asked.current) return;
      setPage((old) => ({ ...found, hits: cursor ? [...old.hits, ...found.hits] : found.hits, asked: true }));
    } catch (problem) {
      if (number !== asked.current) return;
      setError(problem);
      setPage(NOTHING);
    }
  };
  useEffect(() => {
    if (!query.text) {
      asked.current++;
      setError(null);
      setPage(NOTHING);
      return undefined;
    }
    const timer = setTimeout(run, 200);
    return () => clearTimeout(timer);
  }, [query, session]);
  const change = (changed) => onQuery({ ...query, ...changed });
  return html`<section class="panel" aria-label="Search">
    <form class="filters search-form" role="search" onSubmit=${(event) => { event.preventDefault(); run(); }}>
      <label class="grow">Search <input type="search" value=${query.text} placeholder="Words, a path, an error message"
        onInput=${(event) => change({ text: event.target.value })} autofocus /></label>
      <label>Match <select value=${query.mode} onChange=${(event) => change({ mode: event.target.value })}>
        <option value="">words</option><option value="substring">exact text</option><option value="regex">pattern</option></select></label>
      <label>Role <select value=${query.role} onChange=${(event) => change({ role: event.target.value })}>
        <option value="">any</option>${["system", "user", "assistant", "tool"].map((role) => html`<option>${role}</option>`)}</select></label>
      ${!source.isStatic && html`<label>Tool <input class="short" value=${query.tool} placeholder="any"
        onInput=${(event) => change({ tool: event.target.value })} /></label>
      <label>File <input class="short" value=${query.file} placeholder="any" onInput=${(event) => change({ file: event.target.value })} /></label>
      <label class="check"><input type="checkbox" checked=${query.errors} onChange=${(event) => change({ errors: event.target.checked })} />
        errors only</label>
      <label class="check"><input type="checkbox" checked=${query.everywhere || !session} disabled=${!session}
        onChange=${(event) => change({ everywhere: event.target.checked })} /> all sessions</label>`}
    </form>
    ${error && html`<p class="problem" role="alert">${P.visible(error.message)}</p>`}
    <ol class="hits">${page.hits.map((hit) => html`<li key=${`${hit.session}-${hit.number}`}>
      <button class="hit" onClick=${() => onHit(hit)}>
        <span class="hit-head"><b>Message ${hit.number}</b> <span class=${`role role-${hit.role[0]}`}>${hit.role}</span>
          ${(query.everywhere || !session) && html`<span class="muted">${hit.session}</span>`}
          <span class="muted">${P.ago(hit.time)}</span></span>
        <span class="snippet" dir="auto">${P.marked(hit.snippet, hit.marks)}</span></button></li>`)}</ol>
    ${page.next !== null && html`<button onClick=${() => run(page.next)}>More</button>`}
    ${page.asked && !page.hits.length && query.text && html`<${P.Empty} title="Nothing found">
      No message has this${page.complete ? "" : " so far; the search reached its time limit"}.</${P.Empty}>`}
  </section>`;
};

P.SessionList = ({ source, onOpen }) => {
  const [limit, setLimit] = useState(100);
  const [version, setVersion] = useState(0);
  const state = P.useLoaded(() => source.get(`/sessions?limit=${limit}`), [source, limit, version]);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && setVersion((old) => old + 1), 5000);
    return () => clearInterval(timer);
  }, []);
  const sessions = state.value?.sessions;
  if (!sessions) return html`<section class="panel"><${P.Loading} state=${state} what="Sessions" /></section>`;
  if (!sessions.length)
    return html`<section class="panel"><${P.Empty} title="No sessions yet">Start one with <code>plimsoll chat</code>, or send
      an agent's requests through <code>plimsoll gateway</code>.</${P.Empty}></section>`;
  return html`<section class="panel" aria-label="Sessions"><div class="table-box" tabindex="0" role="region" aria-label="Sessions table"><table class="sessions">
    <thead><tr><th scope="col">Session</th><th scope="col">Model</th><th scope="col" class="figures-cell">Messages</th>
      <th scope="col" class="figures-cell">In view</th><th scope="col" class="figures-cell">Log</th><th scope="col">State</th>
      <th scope="col" class="figures-cell">Cost</th><th scope="col">Changed</th></tr></thead>
    <tbody>${sessions.map((one) => html`<tr key=${one.id}>
      <td><button class="link session-link" onClick=${() => onOpen(one.id)}>${P.plain(one.title, 90) || "(no title)"}</button>
        <small class="muted">${one.id}</small></td>
      <td>${P.plain(one.model, 40)}</td><td class="figures-cell">${P.count(one.messages)}</td>
      <td class="figures-cell">${one.view_tokens === undefined ? "–" : P.short(one.view_tokens)}</td>
      <td class="figures-cell">${P.short(one.tokens)}</td>
      <td>${one.compactions ? P.plural(one.compactions, "compaction") : "whole"}</td>
      <td class="figures-cell">${P.money(one.requests ? one.money : null)}</td><td>${P.ago(one.updated)}</td></tr>`)}</tbody></table></div>
    ${sessions.length === limit && limit < 500 && html`<button onClick=${() => setLimit(500)}>Show more</button>`}</section>`;
};
