// Stacked bars on a canvas with lines and marks; pointer, wheel and keyboard zoom and move.
//
// Only the visible bars are drawn. Where several share a pixel, the largest is: peaks are what people look for.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useLayoutEffect, useMemo, useRef, useState } = P.hooks;
const LEFT = 46, RIGHT = 10, TOP = 18, BOTTOM = 20;
const NARROWEST = 8; // bars that fill the chart at the strongest zoom

// Colours come from the style sheet, so that both themes have their own. A canvas needs them resolved.
const resolved = new Map();

function palette(element, names) {
  const probe = document.createElement("span");
  element.parentElement.append(probe);
  const theme = {};
  for (const name of names) {
    if (!resolved.has(name)) {
      probe.style.color = `var(--${name})`;
      resolved.set(name, getComputedStyle(probe).color);
    }
    theme[name] = resolved.get(name);
  }
  probe.remove();
  return theme;
}

function steps(most) {
  const raw = most / 4;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? power;
  const found = [];
  for (let value = 0; value <= most * 1.001; value += step) found.push(value);
  return found;
}

function draw(canvas, props, size, range) {
  const { bars, colours, lines = [], marks = [], cursor, most } = props;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = size.width * ratio;
  canvas.height = size.height * ratio;
  const ink = canvas.getContext("2d");
  ink.scale(ratio, ratio);
  const theme = palette(canvas, [...colours, "line", "muted", "text", "warn", "danger", "accent", "cursor"]);
  const width = size.width - LEFT - RIGHT, height = size.height - TOP - BOTTOM;
  const x = (index) => LEFT + ((index - range[0]) / (range[1] - range[0])) * width;
  const y = (value) => TOP + height - (value / most) * height;
  ink.clearRect(0, 0, size.width, size.height);
  ink.font = "11px system-ui, sans-serif";
  ink.textBaseline = "middle";
  for (const value of steps(most)) {
    ink.fillStyle = theme.line;
    ink.fillRect(LEFT, Math.round(y(value)), width, 1);
    ink.fillStyle = theme.muted;
    ink.textAlign = "right";
    ink.fillText(P.short(value), LEFT - 6, y(value));
  }
  const each = width / (range[1] - range[0]);
  const gap = each > 6 ? 1 : 0;
  const from = Math.max(0, Math.floor(range[0])), to = Math.min(bars.length, Math.ceil(range[1]));
  const at = (index) => {
    const left = x(index), right = Math.max(x(index + 1) - gap, left + 1);
    let base = 0;
    bars[index].forEach((part, order) => {
      if (!part) return;
      ink.fillStyle = theme[colours[order]];
      ink.fillRect(left, y(base + part), right - left, y(base) - y(base + part));
      base += part;
    });
  };
  if (each >= 1) for (let index = from; index < to; index++) at(index);
  else {
    const sum = (index) => bars[index].reduce((a, b) => a + b, 0);
    for (let pixel = 0; pixel < width; pixel++) {
      let best = -1;
      const first = Math.floor(range[0] + pixel / each), end = Math.min(to, Math.ceil(range[0] + (pixel + 1) / each));
      for (let index = Math.max(from, first); index < end; index++) if (best < 0 || sum(index) > sum(best)) best = index;
      if (best >= 0) at(best);
    }
  }
  for (const { value, label, tone } of lines) {
    if (value > most) continue;
    ink.strokeStyle = ink.fillStyle = theme[tone];
    ink.setLineDash([4, 3]);
    ink.beginPath();
    ink.moveTo(LEFT, y(value));
    ink.lineTo(LEFT + width, y(value));
    ink.stroke();
    ink.setLineDash([]);
    ink.textAlign = "left";
    ink.fillText(label, LEFT + 4, y(value) - 8);
  }
  for (const { index, tone } of marks) {
    if (index < range[0] || index > range[1]) continue;
    const middle = Math.round(x(index));
    ink.fillStyle = theme[tone ?? "accent"];
    ink.fillRect(middle, TOP - 4, 1, height + 4);
    ink.beginPath();
    ink.moveTo(middle - 5, TOP - 12);
    ink.lineTo(middle + 6, TOP - 12);
    ink.lineTo(middle + 0.5, TOP - 3);
    ink.fill();
  }
  if (cursor >= from && cursor < to) {
    const left = Math.max(LEFT, x(cursor)), wide = Math.max(2, x(cursor + 1) - x(cursor) - gap);
    ink.strokeStyle = theme.cursor;
    ink.lineWidth = 1.5;
    ink.strokeRect(left - 1, TOP - 1, wide + 2, height + 2);
    ink.lineWidth = 1;
  }
  ink.fillStyle = theme.muted;
  ink.textAlign = "left";
  ink.fillText(String(from + 1), LEFT, size.height - 8);
  ink.textAlign = "right";
  ink.fillText(String(to), LEFT + width, size.height - 8);
  ink.textAlign = "center";
  if (size.width > 480) ink.fillText(props.axis ?? "request", LEFT + width / 2, size.height - 8);
}

P.Chart = (props) => {
  const { bars, cursor, onCursor, onOpen, marks = [], label, describe, height = 210 } = props;
  const canvas = useRef(null);
  const [width, setWidth] = useState(800);
  const [range, setRange] = useState(null); // null: everything
  const dragged = useRef(null);
  const whole = [0, Math.max(bars.length, 1)];
  const shown = range ? [Math.max(0, range[0]), Math.min(whole[1], range[1])] : whole;
  const most = useMemo(() => {
    let largest = 1;
    for (const bar of bars) largest = Math.max(largest, bar.reduce((a, b) => a + b, 0));
    for (const line of props.lines ?? []) if (line.value <= largest * 2.5) largest = Math.max(largest, line.value);
    return largest * 1.06;
  }, [bars, props.lines]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, entry.contentRect.width)));
    observer.observe(canvas.current.parentElement);
    return () => observer.disconnect();
  }, []);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const redraw = () => {
      resolved.clear();
      setTheme((old) => old + 1);
    };
    const query = matchMedia("(prefers-color-scheme: dark)");
    query.addEventListener("change", redraw);
    addEventListener("plimsoll-theme", redraw);
    return () => {
      query.removeEventListener("change", redraw);
      removeEventListener("plimsoll-theme", redraw);
    };
  }, []);
  useLayoutEffect(() => draw(canvas.current, { ...props, most }, { width, height }, shown), [
    bars, marks, props.lines, cursor, width, shown[0], shown[1], most, theme,
  ]);
  const zoom = (factor, centre = (shown[0] + shown[1]) / 2) => {
    const size = Math.max(Math.min(NARROWEST, whole[1]), (shown[1] - shown[0]) * factor);
    if (size >= whole[1]) return setRange(null);
    const share = (centre - shown[0]) / (shown[1] - shown[0]);
    const from = Math.min(Math.max(0, centre - size * share), whole[1] - size);
    return setRange([from, from + size]);
  };
  const move = (by) => {
    const size = shown[1] - shown[0];
    const from = Math.min(Math.max(0, shown[0] + by), whole[1] - size);
    if (range) setRange([from, from + size]);
  };
  const follow = (index) => {
    if (!range || (index >= shown[0] && index < shown[1])) return;
    const size = shown[1] - shown[0];
    const from = Math.min(Math.max(0, index - size / 2), whole[1] - size);
    setRange([from, from + size]);
  };
  const pick = (index) => {
    const target = Math.min(bars.length - 1, Math.max(0, index));
    follow(target);
    onCursor?.(target);
  };
  const indexAt = (event) => {
    const box = canvas.current.getBoundingClientRect();
    return shown[0] + ((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * (shown[1] - shown[0]);
  };
  useEffect(() => {
    const wheel = (event) => {
      if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY) && !event.altKey) return;
      event.preventDefault();
      if (event.ctrlKey || event.altKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, indexAt(event));
      else move(((event.deltaX || event.deltaY) / width) * (shown[1] - shown[0]));
    };
    const element = canvas.current;
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  });
  const keys = (event) => {
    const jump = event.shiftKey ? 10 : 1;
    const next = marks.find((one) => one.index > cursor), last = marks.findLast((one) => one.index < cursor);
    const actions = {
      ArrowLeft: () => pick(cursor - jump), ArrowRight: () => pick(cursor + jump), Home: () => pick(0),
      End: () => pick(bars.length - 1), PageUp: () => pick(cursor - 50), PageDown: () => pick(cursor + 50),
      "+": () => zoom(0.6, cursor), "=": () => zoom(0.6, cursor), "-": () => zoom(1.6, cursor), 0: () => setRange(null),
      "]": () => next && pick(next.index), "[": () => last && pick(last.index), Enter: () => onOpen?.(cursor),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  };
  const down = (event) => {
    dragged.current = { x: event.clientX, from: shown[0], moved: false };
    canvas.current.setPointerCapture(event.pointerId);
  };
  const drag = (event) => {
    if (!dragged.current) return;
    const by = event.clientX - dragged.current.x;
    if (Math.abs(by) > 4) dragged.current.moved = true;
    if (range && dragged.current.moved)
      move(dragged.current.from - shown[0] - (by / (width - LEFT - RIGHT)) * (shown[1] - shown[0]));
  };
  const up = (event) => {
    if (dragged.current && !dragged.current.moved) pick(Math.floor(indexAt(event)));
    dragged.current = null;
  };
  return html`<div class="chart">
    <canvas ref=${canvas} style=${{ width: "100%", height: `${height}px` }} tabindex="0" role="slider" aria-label=${label}
      aria-valuemin="1" aria-valuemax=${Math.max(1, bars.length)} aria-valuenow=${Math.max(0, cursor) + 1}
      aria-valuetext=${describe?.(cursor) ?? ""} onKeyDown=${keys} onPointerDown=${down} onPointerMove=${drag}
      onPointerUp=${up} onDblClick=${() => setRange(null)}></canvas>
    <div class="chart-tools" role="group" aria-label="Zoom">
      <button title="Zoom in (+)" aria-label="Zoom in" onClick=${() => zoom(0.6, cursor)}>+</button>
      <button title="Zoom out (−)" aria-label="Zoom out" onClick=${() => zoom(1.6, cursor)}>−</button>
      <button title="Show everything (0)" aria-label="Show everything" onClick=${() => setRange(null)}>⤢</button>
    </div>
  </div>`;
};
