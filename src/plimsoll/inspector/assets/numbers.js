// Numbers, times and money as people read them.
const P = globalThis.Plimsoll;
const whole = new Intl.NumberFormat("en-US");

P.count = (number) => whole.format(Math.round(number));

P.short = (number) => {
  const size = Math.abs(number);
  if (size >= 1e6) return (number / 1e6).toFixed(size >= 1e7 ? 0 : 1) + "M";
  if (size >= 1e4) return Math.round(number / 1e3) + "k";
  if (size >= 1e3) return (number / 1e3).toFixed(1) + "k";
  return String(Math.round(number));
};

P.bytes = (number) => {
  if (number >= 1e6) return (number / 1e6).toFixed(1) + " MB";
  return number >= 1e3 ? Math.round(number / 1e3) + " kB" : number + " B";
};

P.money = (usd) => {
  if (usd === null || usd === undefined) return "–";
  if (usd === 0) return "$0";
  return "$" + (Math.abs(usd) >= 100 ? usd.toFixed(0) : Math.abs(usd) >= 1 ? usd.toFixed(2) : usd.toFixed(4));
};

P.percent = (share) => (share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0) + " %";

P.span = (seconds) => {
  if (seconds < 9.95) return seconds.toFixed(1) + " s";
  if (seconds < 90) return Math.round(seconds) + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  if (seconds < 129600) return Math.round(seconds / 3600) + " h";
  return Math.round(seconds / 86400) + " days";
};

P.ago = (time) => P.span(Math.max(0, Date.now() / 1000 - time)) + " ago";

P.clock = (time) =>
  new Date(time * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });

P.plural = (number, noun, nouns = noun + "s") => `${P.count(number)} ${number === 1 ? noun : nouns}`;

// Numbers as ranges: 1–3, 7, 9–12.
P.ranges = (numbers, most = 12) => {
  const runs = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] >= number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  const shown = runs.slice(0, most).map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`));
  return shown.join(", ") + (runs.length > most ? ", …" : "");
};
