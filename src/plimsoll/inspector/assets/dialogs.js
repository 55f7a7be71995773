// Dialogs, notices, and small controls that several parts of the page use.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useRef, useState } = P.hooks;

P.Dialog = ({ title, onClose, children, wide }) => {
  const element = useRef(null);
  useEffect(() => {
    element.current.showModal();
  }, []);
  return html`<dialog ref=${element} class=${wide ? "wide" : ""} aria-label=${title}
      onClose=${onClose} onCancel=${onClose}>
    <header class="dialog-head"><h2>${title}</h2>
      <button class="plain" aria-label="Close" onClick=${() => element.current.close()}>✕</button></header>
    <div class="dialog-body">${children}</div>
  </dialog>`;
};

P.Notice = ({ notice, onClose }) => {
  useEffect(() => {
    if (!notice || notice.isError) return undefined;
    const timer = setTimeout(onClose, 6000);
    return () => clearTimeout(timer);
  }, [notice]);
  return html`<div class="notices" role="status" aria-live="polite">
    ${notice && html`<div class=${"notice" + (notice.isError ? " error" : "")}>
      <span>${P.visible(notice.text)}</span>
      <button class="plain" aria-label="Dismiss" onClick=${onClose}>✕</button></div>`}
  </div>`;
};

P.Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`;

P.Figure = ({ label, value, note, tone }) => html`<div class=${"figure " + (tone ?? "")}>
  <dt>${label}</dt><dd>${value}${note && html` <small>${note}</small>`}</dd></div>`;

// Loads something; shows that it loads, and why it could not be loaded.
P.useLoaded = (load, inputs) => {
  const [state, set] = useState({ value: null, error: null, isLoading: true });
  useEffect(() => {
    let isCurrent = true;
    set((old) => ({ ...old, error: null, isLoading: true }));
    Promise.resolve()
      .then(load)
      .then(
        (value) => isCurrent && set({ value, error: null, isLoading: false }),
        (error) => isCurrent && set({ value: null, error, isLoading: false }),
      );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  return state;
};

P.Loading = ({ state, what }) =>
  state.error
    ? html`<${P.Empty} title=${`${what} could not be loaded`}>${P.visible(state.error.message)}</${P.Empty}>`
    : html`<div class="loading" role="status">Loading ${what.toLowerCase()} …</div>`;
