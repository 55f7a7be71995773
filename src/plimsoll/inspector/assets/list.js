// A list of any length with rows of one height: only those on the screen exist.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useLayoutEffect, useRef, useState } = P.hooks;
const SPARE = 4; // rows above and below the visible ones

P.VirtualList = ({ name, count, height, row, label, selected, onSelect, onOpen, reveal, classOf }) => {
  const box = useRef(null);
  const [place, setPlace] = useState({ top: 0, size: 600 });
  useLayoutEffect(() => {
    const measure = () => setPlace({ top: box.current.scrollTop, size: box.current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure();
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (reveal === undefined || reveal === null || !box.current) return;
    const at = reveal.index * height;
    const { scrollTop, clientHeight } = box.current;
    if (at < scrollTop || at + height > scrollTop + clientHeight)
      box.current.scrollTop = at - (reveal.centre ? clientHeight / 2 : at < scrollTop ? 0 : clientHeight - height);
  }, [reveal]);
  const first = Math.max(0, Math.floor(place.top / height) - SPARE);
  const last = Math.min(count, Math.ceil((place.top + place.size) / height) + SPARE);
  const rows = [];
  for (let index = first; index < last; index++)
    rows.push(html`<div key=${index} id=${`${name}-${index}`} role="option" aria-selected=${index === selected ? "true" : "false"}
      aria-posinset=${index + 1} aria-setsize=${count} class=${"row" + (index === selected ? " selected" : "") + (classOf ? " " + classOf(index) : "")}
      style=${{ top: `${index * height}px`, height: `${height}px` }} onClick=${() => onSelect(index, true, true)}>${row(index)}</div>`);
  const move = (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: Math.floor(place.size / height), PageUp: -Math.floor(place.size / height) };
    const target = event.key === "Home" ? 0 : event.key === "End" ? count - 1 : (selected ?? -1) + steps[event.key];
    if (event.key === "Enter" && onOpen) onOpen(selected);
    if (Number.isNaN(target) || count === 0) return;
    event.preventDefault();
    onSelect(Math.min(count - 1, Math.max(0, target)), true);
  };
  return html`<div ref=${box} class="virtual" role="listbox" tabindex="0" aria-label=${label}
      aria-activedescendant=${selected >= first && selected < last ? `${name}-${selected}` : undefined}
      onScroll=${() => setPlace({ top: box.current.scrollTop, size: box.current.clientHeight })} onKeyDown=${move}>
    <div class="virtual-space" style=${{ height: `${count * height}px` }} role="presentation">${rows}</div>
  </div>`;
};
