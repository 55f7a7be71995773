// What a person can change: each action is one call to the server, and shows first what it will do and cost.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useState } = P.hooks;

const MENU = [
  ["compact", "Compact now …"], ["edit", "Edit the summary …"], ["undo", "Undo …"], ["redo", "Redo …"],
  ["fork", "Fork the session …"], ["export", "Export …"], ["history", "History of actions"],
];

P.ActionMenu = ({ onAction }) => html`<label class="menu"><span class="hidden">Action</span>
  <select aria-label="Actions" value="" onChange=${(event) => {
    onAction({ kind: event.target.value });
    event.target.value = "";
  }}><option value="" disabled>Actions</option>${MENU.map(([kind, label]) => html`<option value=${kind}>${label}</option>`)}</select></label>`;

function Effect({ effect }) {
  if (!effect) return html`<p class="muted" role="status">Checking what this will do …</p>`;
  if (effect.refused) return html`<p class="problem" role="alert">${P.visible(effect.refused)}</p>`;
  const cache = effect.cache ?? {};
  return html`<dl class="figures">
    <${P.Figure} label="Messages in view" value=${`${P.count(effect.messages_before)} → ${P.count(effect.messages_after)}`} />
    <${P.Figure} label="Tokens" value=${`${P.count(effect.tokens_before)} → ${P.count(effect.tokens_after)}`} />
    <${P.Figure} label="Cache" value=${`${P.short(cache.rewritten ?? 0)} tokens written again`}
      note=${`${P.short(cache.kept ?? 0)} stay cached`} />
    <${P.Figure} label="Cost of the change" value=${P.money(cache.money)} />
    ${effect.messages?.length > 0 && html`<${P.Figure} label="Leave the view" value=${`messages ${P.ranges(effect.messages)}`} />`}
  </dl>`;
}

// Asks for a preview whenever the inputs change; `send(preview)` is the call.
function usePreview(send, inputs) {
  const [effect, setEffect] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    setEffect(null);
    setError(null);
    const timer = setTimeout(() => send().then(
      (value) => isCurrent && setEffect(value), (problem) => isCurrent && setError(problem)), 150);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, inputs);
  return [effect, error];
}

function Buttons({ label, onRun, isReady, onClose }) {
  const [state, setState] = useState({ isBusy: false, error: null });
  const run = async () => {
    setState({ isBusy: true, error: null });
    try {
      await onRun();
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return html`${state.error && html`<p class="problem" role="alert">${P.visible(state.error.message)}</p>`}
    <div class="buttons end"><button onClick=${onClose}>Cancel</button>
      <button class="primary" disabled=${!isReady || state.isBusy} onClick=${run}>${state.isBusy ? "Working …" : label}</button></div>`;
}

function Changed({ title, text, label, path, body, method = "POST", done, ...rest }) {
  const { session, source, onClose, onDone } = rest;
  const call = (preview) => source.ask(method, `/sessions/${session}/${path}`, { ...body, preview });
  const [effect, error] = usePreview(() => call(true), [JSON.stringify(body)]);
  return html`<${P.Dialog} title=${title} onClose=${onClose}><p>${text}</p>
    ${error ? html`<p class="problem" role="alert">${P.visible(error.message)}</p>` : html`<${Effect} effect=${effect} />`}
    <${Buttons} label=${label} isReady=${effect && !effect.refused} onClose=${onClose} onRun=${async () => {
      await call(false);
      onDone(done);
    }} /></${P.Dialog}>`;
}

function Compact({ session, source, onClose, onDone, onMessage, onSearch }) {
  const [focus, setFocus] = useState("");
  const [preview, setPreview] = useState(null);
  const [state, setState] = useState({ isBusy: false, error: null });
  const body = () => (focus.trim() ? { focus: focus.trim() } : {});
  const ask = async () => {
    setState({ isBusy: true, error: null });
    try {
      setPreview(await source.ask("POST", `/sessions/${session}/compact/preview`, body()));
      setState({ isBusy: false, error: null });
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return html`<${P.Dialog} title="Compact now" onClose=${onClose} wide=${Boolean(preview)}>
    <p>Older messages are replaced with a summary. The log keeps all of them, and you can undo it.</p>
    <div class="filters"><label class="grow">Focus (optional) <input value=${focus} maxlength="2000" placeholder="what the summary should mostly be about"
      onInput=${(event) => { setFocus(event.target.value); setPreview(null); }} /></label>
      <button disabled=${state.isBusy} onClick=${ask}>${state.isBusy ? "Preparing …" : "Preview"}</button></div>
    ${state.error && html`<p class="problem" role="alert">${P.visible(state.error.message)}</p>`}
    ${preview && html`<${P.CompactionDetail} detail=${preview} onMessage=${onMessage} onSearch=${onSearch} />`}
    <${Buttons} label="Compact" isReady=${preview && preview.outcome !== "refused"} onClose=${onClose} onRun=${async () => {
      const event = await source.ask("POST", `/sessions/${session}/compact`, body());
      onDone(event.outcome === "compacted"
        ? `Compacted: ${P.count(event.tokens_before)} → ${P.count(event.tokens_after)} tokens.` : `Not compacted: ${event.reason}`);
    }} /></${P.Dialog}>`;
}

function Difference({ before, after }) {
  const pieces = globalThis.Diff.diffLines(before, after, { ignoreNewlineAtEof: true }).filter((one) => one.added || one.removed).slice(0, 60);
  if (!pieces.length) return html`<p class="muted">No change yet.</p>`;
  return html`<div class="diff" role="region" aria-label="Changes" tabindex="0">${pieces.map((one) => html`<div class=${one.added ? "added" : "removed"}>
    <span class="hidden">${one.added ? "Added: " : "Removed: "}</span>${P.visible(one.value.slice(0, 4000))}</div>`)}</div>`;
}

function Edit({ session, source, onClose, onDone }) {
  const [version, setVersion] = useState(0); // counts the times that the summary was loaded
  const [isLate, setLate] = useState(false); // someone else changed the summary
  const state = P.useLoaded(async () => {
    const summary = await source.get(`/sessions/${session}/summary`);
    if (!summary.node) throw new P.Problem(404, "", "The view has no summary. Compact the session first.");
    return summary;
  }, [session, version]);
  const [text, setText] = useState(null);
  const before = state.value?.text ?? "";
  const current = text ?? before;
  const isChanged = state.value !== null && current !== before && current.trim() !== "";
  // The node tells the server which summary this text was written for: a newer one is never overwritten.
  const save = (preview) => source.ask("PUT", `/sessions/${session}/summary`, { text: current, node: state.value.node, preview });
  const [effect, error] = usePreview(() => isChanged ? save(true) : Promise.resolve(null),
    [current, isChanged, state.value?.node]);
  return html`<${P.Dialog} title="Edit the summary" onClose=${onClose} wide>
    ${state.value === null ? html`<${P.Loading} state=${state} what="Summary" />` : html`
      <p>Your text takes precedence: what you remove does not return by itself. The change is recorded with your name.</p>
      <textarea aria-label="Summary" rows="16" dir="auto" value=${current} onInput=${(event) => setText(event.target.value)}></textarea>
      <${Difference} before=${before} after=${current} />
      ${error ? html`<p class="problem" role="alert">${P.visible(error.message)}</p>` : isChanged && html`<${Effect} effect=${effect} />`}
      ${isLate && html`<p class="note">Your text stays here. Load the newest summary to see how yours differs from it.${" "}
        <button onClick=${() => { setLate(false); setText(current); setVersion(version + 1); }}>Load the newest summary</button></p>`}
      <${Buttons} key=${state.value.node} label="Save as new view" isReady=${isChanged && effect && !effect.refused} onClose=${onClose} onRun=${async () => {
        try {
          await save(false);
        } catch (error) {
          setLate(error.status === 409 || error.status === 422);
          throw error;
        }
        onDone("The summary was edited.");
      }} />`}</${P.Dialog}>`;
}

function Fork({ session, source, derived, action, onClose, onDone }) {
  const last = derived.timeline.session.messages;
  const [at, setAt] = useState(action.number ?? last);
  const [title, setTitle] = useState("");
  return html`<${P.Dialog} title="Fork the session" onClose=${onClose}>
    <p>The fork shares all messages up to the one that you choose and goes its own way. Nothing is copied.</p>
    <div class="filters"><label>Last shared message <input type="number" min="0" max=${last} value=${at}
      onInput=${(event) => setAt(Number(event.target.value))} /></label>
      <label class="grow">Title (optional) <input value=${title} maxlength="200" onInput=${(event) => setTitle(event.target.value)} /></label></div>
    <${Buttons} label="Fork" isReady=${at >= 0 && at <= last} onClose=${onClose} onRun=${async () => {
      const forked = await source.ask("POST", `/sessions/${session}/fork`, { at, ...(title ? { title } : {}) });
      onDone(`Forked at message ${at} as ${forked.id}.`, forked.id);
    }} /></${P.Dialog}>`;
}

function Export({ session, source, onClose, onDone }) {
  const [format, setFormat] = useState("openai");
  const [isView, setView] = useState(false);
  return html`<${P.Dialog} title="Export" onClose=${onClose}>
    <div class="filters"><label>Format <select value=${format} onChange=${(event) => setFormat(event.target.value)}>
      <option value="openai">OpenAI messages</option><option value="anthropic">Anthropic messages</option>
      <option value="markdown">Markdown</option></select></label>
      <label class="check"><input type="checkbox" checked=${isView} onChange=${(event) => setView(event.target.checked)} />
        only what the model sees</label></div>
    <p class="muted">The file has everything that was said, including secrets.</p>
    <${Buttons} label="Download" isReady onClose=${onClose} onRun=${async () => {
      const answer = await source.get(`/sessions/${session}/export?format=${format}&view=${isView}`);
      const isDocument = typeof answer.content === "string";
      const file = new Blob([isDocument ? answer.content : JSON.stringify(answer.content, null, 2)],
        { type: isDocument ? "text/markdown" : "application/json" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = `${session}.${isDocument ? "md" : "json"}`;
      link.click();
      URL.revokeObjectURL(link.href);
      onDone("Exported.");
    }} /></${P.Dialog}>`;
}

function Pin({ kind, number, session, source, onClose, onDone }) {
  const isPin = kind === "pin";
  return html`<${P.Dialog} title=${isPin ? `Pin message ${number}` : `Unpin message ${number}`} onClose=${onClose}>
    <p>${isPin ? "Every compaction keeps a pinned message word for word." : "Compactions may summarise the message again."}
      The view does not change now, so the cache stays warm.</p>
    <${Buttons} label=${isPin ? "Pin" : "Unpin"} isReady onClose=${onClose} onRun=${async () => {
      await source.ask(isPin ? "PUT" : "DELETE", `/sessions/${session}/pins/${number}`);
      onDone(`Message ${number} is ${isPin ? "pinned" : "not pinned any more"}.`);
    }} /></${P.Dialog}>`;
}

function History({ session, source, onClose }) {
  const state = P.useLoaded(() => source.get(`/sessions/${session}/actions?limit=200`), [session]);
  return html`<${P.Dialog} title="History of actions" onClose=${onClose} wide>
    ${!state.value ? html`<${P.Loading} state=${state} what="History" />` : !state.value.actions.length
      ? html`<${P.Empty} title="No actions yet">What people change in this session is listed here.</${P.Empty}>`
      : html`<ol class="history">${state.value.actions.toReversed().map((one) => html`<li><b>${P.plain(one.action, 30)}</b>
          <span>${P.plain(one.actor, 60)}</span><span class="muted">${P.clock(one.time)}</span>
          <code>${P.plain(typeof one.details === "string" ? one.details : JSON.stringify(one.details), 200)}</code></li>`)}</ol>`}
  </${P.Dialog}>`;
}

P.ActionDialog = ({ action, ...rest }) => {
  const { kind, number } = action;
  if (kind === "compact") return html`<${Compact} ...${rest} />`;
  if (kind === "edit") return html`<${Edit} ...${rest} />`;
  if (kind === "fork") return html`<${Fork} action=${action} ...${rest} />`;
  if (kind === "export") return html`<${Export} ...${rest} />`;
  if (kind === "history") return html`<${History} ...${rest} />`;
  if (kind === "pin" || kind === "unpin") return html`<${Pin} kind=${kind} number=${number} ...${rest} />`;
  if (kind === "drop")
    return html`<${Changed} title=${`Drop message ${number} from the view`} label="Drop" path="drop" body=${{ messages: [number] }}
      text="The model does not see the message any more, nor the other half of its tool call. The log keeps both."
      done=${`Message ${number} left the view.`} ...${rest} />`;
  if (kind === "undo")
    return html`<${Changed} title="Undo" label="Undo" path="undo" body=${{}} done="Undone." text="The view before the last change
      comes back. What was said since stays." ...${rest} />`;
  return html`<${Changed} title="Redo" label="Redo" path="redo" body=${{}} done="Redone." text="The change that was undone last is
    made again." ...${rest} />`;
};
