// Stacked bars on a canvas with lines and marks; pointer, wheel and keyboard zoom and move.
//
// Only the visible bars are drawn. Where several share a pixel, the largest is: peaks are what people look for.
const P = globalThis.Plimsoll;
const { html } = P;
const { useEffect, useLayoutEffect, useMemo, useRef, useState } = P.hooks;
const LEFT = 46, RIGHT = 10, TOP = 18, BOTTOM = 26;
const STRIP = 6; // pixels of the strip below the bars
const FEWEST = 24; // bars that the chart has room for; fewer do not become wider
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

function frame(size, range, most) {
  const width = size.width - LEFT - RIGHT, height = size.height - TOP - BOTTOM;
  return {
    width, height,
    x: (index) => LEFT + ((index - range[0]) / (range[1] - range[0])) * width,
    y: (value) => TOP + height - (value / most) * height,
    each: width / (range[1] - range[0]),
  };
}

function drawScale(ink, theme, { width, y }, most) {
  ink.textBaseline = "middle";
  ink.textAlign = "right";
  for (const value of steps(most)) {
    ink.fillStyle = theme.line;
    ink.fillRect(LEFT, Math.round(y(value)), width, 1);
    ink.fillStyle = theme.muted;
    ink.fillText(P.short(value), LEFT - 6, y(value));
  }
}

function drawBars(ink, theme, { bars, totals, colours }, { width, x, y, each }, range) {
  const gap = each > 6 ? 1 : 0;
  const from = Math.max(0, Math.floor(range[0])), to = Math.min(bars.length, Math.ceil(range[1]));
  const one = (index, left, wide) => {
    let base = 0;
    for (let order = 0; order < colours.length; order++) {
      const part = bars[index][order];
      if (!part) continue;
      ink.fillStyle = theme[colours[order]];
      ink.fillRect(left, y(base + part), wide, y(base) - y(base + part));
      base += part;
    }
  };
  if (each >= 1) {
    for (let index = from; index < to; index++) one(index, x(index), Math.max(x(index + 1) - gap - x(index), 1));
    return;
  }
  for (let pixel = 0; pixel < width; pixel++) {
    let best = -1;
    const first = Math.floor(range[0] + pixel / each), end = Math.min(to, Math.ceil(range[0] + (pixel + 1) / each));
    for (let index = Math.max(from, first); index < end; index++) if (best < 0 || totals[index] > totals[best]) best = index;
    if (best >= 0) one(best, LEFT + pixel, 1);
  }
}

// A second scale below the bars, for what is not counted in the same unit: each value as a share of the largest.
function drawStrip(ink, theme, strip, { width, height, x, each }, range) {
  const largest = strip.reduce((a, b) => Math.max(a, b), 1);
  const from = Math.max(0, Math.floor(range[0])), to = Math.min(strip.length, Math.ceil(range[1]));
  ink.fillStyle = theme["part-media"];
  for (let index = from; index < to; index++) {
    if (!strip[index]) continue;
    const left = x(index), wide = Math.min(Math.max(each - (each > 6 ? 1 : 0), 1), LEFT + width - left);
    ink.fillRect(left, TOP + height + 2, wide, 1 + (STRIP - 1) * (strip[index] / largest));
  }
}

function drawLines(ink, theme, lines, { width, y }, most) {
  ink.textAlign = "left";
  let above = Infinity; // where the label before stands; one that would touch it goes below its line
  for (const { value, label, tone } of lines.toSorted((a, b) => b.value - a.value)) {
    if (value > most) continue;
    ink.strokeStyle = theme[tone];
    ink.setLineDash([4, 3]);
    ink.beginPath();
    ink.moveTo(LEFT, y(value));
    ink.lineTo(LEFT + width, y(value));
    ink.stroke();
    ink.setLineDash([]);
    const at = Math.abs(y(value) - 8 - above) < 13 ? y(value) + 9 : y(value) - 8;
    ink.fillStyle = theme.surface;
    ink.fillRect(LEFT + 2, at - 7, ink.measureText(label).width + 4, 13);
    ink.fillStyle = theme[tone];
    ink.fillText(label, LEFT + 4, at);
    above = at;
  }
}

function drawMarks(ink, theme, marks, { height, x }, range) {
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
}

function drawCursor(ink, theme, cursor, { height, x, each }, range) {
  if (cursor < Math.floor(range[0]) || cursor >= range[1]) return;
  const left = Math.max(LEFT, x(cursor)), wide = Math.max(2, x(cursor + 1) - x(cursor) - (each > 6 ? 1 : 0));
  ink.strokeStyle = theme.cursor;
  ink.lineWidth = 1.5;
  ink.strokeRect(left - 1, TOP - 1, wide + 2, height + 2);
}

function inkOf(canvas, size) {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = size.width * ratio;
  canvas.height = size.height * ratio;
  const ink = canvas.getContext("2d");
  ink.scale(ratio, ratio);
  ink.font = "11px system-ui, sans-serif";
  return ink;
}

// Everything but the cursor, which moves most often.
function drawBack(canvas, props, size, range) {
  const { bars, colours, lines = [], marks = [], most, totals } = props;
  const ink = inkOf(canvas, size);
  const theme = palette(props.element, [...colours, "line", "muted", "surface", "warn", "danger", "accent", "edited", "part-media"]);
  const place = frame(size, range, most);
  drawScale(ink, theme, place, most);
  drawBars(ink, theme, { bars, totals, colours }, place, range);
  if (props.strip) drawStrip(ink, theme, props.strip, place, range);
  drawMarks(ink, theme, marks, place, range);
  drawLines(ink, theme, lines, place, most); // last: its labels stay readable
  ink.fillStyle = theme.muted;
  ink.textAlign = "left";
  ink.fillText(String(Math.floor(range[0]) + 1), LEFT, size.height - 12);
  const last = Math.min(bars.length, Math.ceil(range[1])), end = Math.min(place.x(last), LEFT + place.width);
  ink.textAlign = "right";
  if (end > LEFT + 40) ink.fillText(String(last), end, size.height - 12);
  ink.textAlign = "center";
  if (size.width > 480) ink.fillText(props.axis ?? "request", LEFT + place.width / 2, size.height - 12);
}

P.Chart = (props) => {
  const { bars, cursor, onCursor, onOpen, marks = [], label, describe, height = 210 } = props;
  const canvas = useRef(null);
  const [width, setWidth] = useState(800);
  const [range, setRange] = useState(null); // null: everything
  const dragged = useRef(null);
  const whole = [0, Math.max(bars.length, FEWEST)];
  const shown = range ? [Math.max(0, range[0]), Math.min(whole[1], range[1])] : whole;
  const totals = useMemo(() => Float64Array.from(bars, (bar) => bar.reduce((a, b) => a + b, 0)), [bars]);
  const most = useMemo(() => {
    let largest = 1;
    for (const total of totals) largest = Math.max(largest, total);
    for (const line of props.lines ?? []) if (line.value <= largest * 2.5) largest = Math.max(largest, line.value);
    return largest * 1.06;
  }, [totals, props.lines]);
  const back = useRef(null);
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
  const size = { width, height };
  useLayoutEffect(() => {
    back.current ??= document.createElement("canvas");
    drawBack(back.current, { ...props, most, totals, element: canvas.current }, size, shown);
  }, [bars, marks, props.lines, width, shown[0], shown[1], most, theme]);
  useLayoutEffect(() => {
    const ink = inkOf(canvas.current, size);
    ink.drawImage(back.current, 0, 0, width, height);
    drawCursor(ink, palette(canvas.current, ["cursor"]), cursor, frame(size, shown, most), shown);
  }, [bars, marks, props.lines, cursor, width, shown[0], shown[1], most, theme]);
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
