// One compaction, before and after: what was kept, shortened and removed, and where each line of the summary comes from.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useMemo, useState } = P.hooks;
const ROW = 28;

const FATES = { kept: "kept", shortened: "shortened", removed: "removed", summarised: "summarised" };

function Item({ item }) {
  return html`<span class="number">${item.number ?? "—"}</span>
    <span class=${`role role-${(item.role ?? "o")[0]}`}>${item.node ? "summary" : P.plain(item.role, 20)}</span>
    <span class="preview" dir="auto">${P.plain(item.preview, 220)}</span>
    <span class="tokens">${P.short(item.tokens)}</span>`;
}

function Items({ name, title, items, chosen, related, onChoose, reveal }) {
  const total = items.reduce((sum, one) => sum + one.tokens, 0);
  return html`<section class="column" aria-label=${title}>
    <h3>${title} <small>${P.plural(items.length, "message")} · ${P.short(total)} tokens</small></h3>
    <${P.VirtualList} name=${name} count=${items.length} height=${ROW} label=${title} selected=${chosen} reveal=${reveal}
      classOf=${(index) => `fate-${items[index].is_new ? "new" : items[index].fate ?? "kept"}` +
        (related.has(items[index].number ?? items[index].node) ? " related" : "")}
      onSelect=${(index) => onChoose(index)} row=${(index) => html`<${Item} item=${items[index]} />`} />
  </section>`;
}

function Lines({ lines, chosen, onChoose, related }) {
  if (!lines.length) return html`<p class="muted pad">No provenance was stored with this summary.</p>`;
  let section = null;
  return html`<div class="lines">${lines.map((line, index) => {
    const heading = line.section !== section && html`<h4>${P.visible(line.section)}</h4>`;
    section = line.section;
    const isRelated = related && line.sources.includes(related);
    return html`${heading}<button key=${index} class=${"line" + (chosen === index ? " selected" : "") + (isRelated ? " related" : "")}
      aria-pressed=${chosen === index ? "true" : "false"} onClick=${() => onChoose(chosen === index ? null : index)}>
      <span dir="auto">${P.visible(P.plain(line.text, 600))}</span>
      <small>${line.sources.length ? `← ${P.ranges(line.sources, 6)}` : "no source"}</small></button>`;
  })}</div>`;
}

function Figures({ detail }) {
  const saved = detail.tokens_before ? 1 - detail.tokens_after / detail.tokens_before : 0;
  return html`<dl class="figures">
    <${P.Figure} label="Trigger" value=${P.plain(detail.trigger, 40)} note=${P.plain(detail.engine, 30)} />
    <${P.Figure} label="Messages" value=${`${P.count(detail.messages_before)} → ${P.count(detail.messages_after)}`} />
    <${P.Figure} label="Tokens" value=${`${P.count(detail.tokens_before)} → ${P.count(detail.tokens_after)}`}
      note=${saved > 0 ? `−${P.percent(saved)}` : ""} />
    <${P.Figure} label="Waited" value=${P.span(detail.waited)} note=${`took ${P.span(detail.seconds)}`} />
    <${P.Figure} label="Cost" value=${P.money(detail.money)} note=${P.plain(detail.model, 40)} />
    ${detail.author && html`<${P.Figure} label="Author" value=${P.plain(detail.author, 40)} />`}
  </dl>`;
}

function Facts({ detail, onSearch, onMessage }) {
  const facts = Object.entries(detail.facts ?? {});
  const lost = detail.lost ?? [];
  return html`<section class="facts" aria-label="Facts">
    <div class="fact-bars">${facts.map(([kind, { had, kept }]) => html`<div class="fact">
      <span>${P.plain(kind, 30)}</span><meter min="0" max=${had} value=${kept} aria-label=${`${kind} kept`}></meter>
      <b>${kept} of ${had}</b></div>`)}</div>
    ${lost.length > 0 && html`<h4>No longer in the view</h4><ul class="lost">${lost.map((fact) => html`<li>
      <span class="tag">${P.plain(fact.kind, 20)}</span><code dir="auto">${P.visible(P.plain(fact.text, 200))}</code>
      ${(fact.messages ?? []).slice(0, 3).map((number) => html`<button class="link" onClick=${() => onMessage(number)}>
        message ${number}</button>`)}
      <button class="link" onClick=${() => onSearch(fact.text)}>Search for it</button></li>`)}</ul>`}
    ${!lost.length && facts.length > 0 && facts.every(([, one]) => one.had === one.kept) && html`<p class="muted">Every fact that was found before is still named.</p>`}
  </section>`;
}

// Shows a compaction that is stored, or the preview of one that is not.
P.CompactionDetail = ({ detail, onMessage, onSearch }) => {
  const [line, setLine] = useState(null);
  const [row, setRow] = useState(null); // index in `before`
  const [reveal, setReveal] = useState(null);
  const chosen = row === null ? null : detail.before[row];
  const related = useMemo(() => new Set(line === null ? [] : detail.lines[line]?.sources ?? []), [detail, line]);
  useEffect(() => {
    setLine(null);
    setRow(null);
  }, [detail]);
  const chooseLine = (index) => {
    setLine(index);
    setRow(null);
    const wanted = index === null ? [] : detail.lines[index].sources;
    const at = detail.before.findIndex((one) => wanted.includes(one.number));
    if (at >= 0) setReveal({ index: at, centre: true });
  };
  const chooseRow = (index) => {
    setRow(index);
    setLine(null);
  };
  const uses = chosen?.number ? detail.lines.filter((one) => one.sources.includes(chosen.number)).length : 0;
  return html`<div class="compaction">
    ${detail.reason && html`<p class="reason">${P.visible(detail.reason)}</p>`}
    <${Figures} detail=${detail} />
    <div class="fate-note" role="status">${chosen
      ? html`${chosen.number ? `Message ${chosen.number}` : "The earlier summary"} was <b>${FATES[chosen.fate] ?? chosen.fate}</b>${
          uses ? ` and is the source of ${P.plural(uses, "line")} of the summary` : ""}.
          ${chosen.number && html` <button class="link" onClick=${() => onMessage(chosen.number)}>Open message</button>`}`
      : line !== null ? html`Line from ${related.size ? `${related.size === 1 ? "message" : "messages"} ${P.ranges(related)}` : "no message"}.`
      : "Choose a line of the summary to see its sources, or a message to see what became of it."}</div>
    <div class="columns">
      <${Items} name="before" title="Before" items=${detail.before} chosen=${row ?? -1} related=${related} reveal=${reveal}
        onChoose=${chooseRow} />
      <section class="column" aria-label="Summary"><h3>Summary <small>${P.plural(detail.lines.length, "line")}</small></h3>
        <div class="column-body" tabindex="0" role="region" aria-label="Summary lines">
          <${Lines} lines=${detail.lines} chosen=${line} onChoose=${chooseLine} related=${chosen?.number} />
          ${!detail.lines.length && detail.summary && html`<${P.LongText} text=${detail.summary} className="pad" />`}
        </div></section>
      <${Items} name="after" title="After" items=${detail.after} related=${new Set(chosen ? [chosen.number ?? chosen.node] : [])}
        chosen=${-1} onChoose=${(index) => detail.after[index].number && onMessage(detail.after[index].number)} />
    </div>
    <${Facts} detail=${detail} onSearch=${onSearch} onMessage=${onMessage} />
  </div>`;
};

P.Compactions = ({ session, source, derived, number, onPick, onMessage, onSearch }) => {
  const events = derived.timeline.events;
  const shown = events.find((one) => one.number === number) ?? events.findLast((one) => one.view_after !== one.view_before);
  const state = P.useLoaded(() => (shown ? source.compaction(session, shown.number) : null),
    [source, session, shown?.number, shown?.time]);
  if (!events.length)
    return html`<section class="panel"><${P.Empty} title="Never compacted">The model sees the whole conversation. A
      compaction starts at ${P.count(derived.timeline.threshold)} tokens.</${P.Empty}></section>`;
  return html`<section class="panel" aria-label="Compactions">
    <div class="picker"><label>Compaction <select value=${shown?.number} onChange=${(event) => onPick(Number(event.target.value))}>
      ${events.map((event) => html`<option value=${event.number}>${`${P.eventTitle(event)} · ${P.clock(event.time)}`}</option>`)}</select></label>
      <button disabled=${!events.some((one) => one.number < shown?.number)} onClick=${() => onPick(shown.number - 1)}>Earlier</button>
      <button disabled=${!events.some((one) => one.number > shown?.number)} onClick=${() => onPick(shown.number + 1)}>Later</button>
    </div>
    ${state.value && state.value.number === shown.number
      ? html`<${P.CompactionDetail} detail=${state.value} onMessage=${onMessage} onSearch=${onSearch} />`
      : html`<${P.Loading} state=${state} what="Compaction" />`}
  </section>`;
};
