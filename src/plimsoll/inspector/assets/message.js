// One message: its texts, thinking, calls and images, as data.
const P = globalThis.Plimsoll;
const { html } = P;

P.ROLES = { s: "system", u: "user", a: "assistant", t: "tool", o: "other" };

function partsOf(message) {
  if (typeof message.content === "string") return message.content ? [{ type: "text", text: message.content }] : [];
  return Array.isArray(message.content) ? message.content : [];
}

function argumentsText(call) {
  const raw = call.function?.arguments ?? call.arguments ?? call.input ?? "";
  if (typeof raw !== "string") return JSON.stringify(raw, null, 2);
  try {
    const read = JSON.parse(raw);
    return typeof read === "object" && read ? Object.entries(read)
      .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n") : raw;
  } catch {
    return raw;
  }
}

// Imported files may have anything here, also null.
const callsOf = (message) => (Array.isArray(message.tool_calls) ? message.tool_calls : []).filter((call) => call && typeof call === "object");

P.callName = (call) => String(call.function?.name ?? call.name ?? "call");

// All words of a message in one text, for search and previews.
P.wordsOf = (message) => {
  const texts = partsOf(message).map((part) => part.text ?? (part.type === "text" ? "" : `[${part.type ?? "part"}${part.bytes ? " " + P.bytes(part.bytes) : ""}]`));
  const calls = callsOf(message).map((call) => `→ ${P.callName(call)} ${argumentsText(call)}`);
  return [...texts, ...calls].filter(Boolean).join("\n");
};

function Part({ part, marks }) {
  if (typeof part.text === "string") return html`<${P.LongText} text=${part.text} marks=${marks} />`;
  const bytes = part.bytes ?? (part.image_url?.url ?? "").length * 0.75;
  return html`<div class="placeholder">${P.plain(part.type ?? "part", 40)}${part.media_type
    ? ` · ${P.plain(part.media_type, 40)}` : ""}${bytes ? ` · ${P.bytes(Math.round(bytes))}` : ""}</div>`;
}

P.MessageBody = ({ message, marks }) => {
  const thinking = message.reasoning_content ?? message.reasoning;
  return html`<div class="message-body">
    ${typeof thinking === "string" && thinking && html`<details class="thinking"><summary>Thinking</summary>
      <${P.LongText} text=${thinking} /></details>`}
    ${partsOf(message).map((part) => html`<${Part} part=${part} marks=${marks} />`)}
    ${callsOf(message).map((call) => html`<div class="call"><b>${P.visible(P.callName(call))}</b>
      <${P.LongText} text=${argumentsText(call)} /></div>`)}
    ${!partsOf(message).length && !callsOf(message).length && html`<p class="muted">No content</p>`}
  </div>`;
};
