// What the same conversation would have cost under other settings: the rules of plimsoll/caching on sizes alone.
//
// The log is append-only, so one request's prompt is a prefix of the next until a compaction; no text is needed to know
// what a cache would have read. tests/peers/test_inspector.py compares the results with the simulator in Python.
const P = globalThis.Plimsoll;
const ON_ITS_WAY = 5, MIN_GAIN = 1.5, MAX_REQUESTS = 200, STEP = 1000; // as in caching/cost_policy.py
const SUMMARY_SHARE = 0.2, MIN_SUMMARY = 2000, MAX_SUMMARY = 12000, WINDOW_SHARE = 0.05; // as in context/budget.py
const PROTECTED = 20; // messages; compression.protect_last_n
const FIRST_EXCHANGE = 3;
const AUTOMATIC_STEP = 128; // tokens; automatic caches count in such steps

const usd = (tokens, price) => (tokens * price) / 1e6;

function pricesOf(card, prompt) {
  const [input, output, read, write5, write60] = card.long && prompt > card.long ? card.long_prices : card.prices;
  return { input, output, read, write: { "5m": write5, "1h": write60 } };
}

function billed(card, ttl, prompt, read, output) {
  const prices = pricesOf(card, prompt);
  const isMarked = card.style === "anthropic" || card.style === "openai_breakpoints";
  const writes = isMarked && prompt >= card.minimum ? prompt - read : 0;
  const plain = prompt - read - writes;
  const money = usd(read, prices.read) + usd(writes, prices.write[ttl]) + usd(plain, prices.input) + usd(output, prices.output);
  return { read, written: writes, plain, output, prompt, money };
}

function lifetimeOf(card, ttl) {
  if (card.style === "none") return 0;
  if (card.style === "anthropic") return ttl === "1h" ? 3600 : 300;
  return card.lifetimes[0] ?? 300;
}

function summarySize(removed, window) {
  const most = Math.min(window * WINDOW_SHARE, MAX_SUMMARY);
  return Math.round(Math.min(Math.max(removed * SUMMARY_SHARE, MIN_SUMMARY), most));
}

// Whether a lighter prompt pays now: `compaction_pays` of caching/cost_policy.py.
function pays(card, ttl, history, tokens, target, window, now) {
  const prices = pricesOf(card, tokens);
  const lifetime = lifetimeOf(card, ttl);
  const steady = lifetime ? prices.read : prices.input;
  const removed = tokens - target;
  if (removed <= 0 || tokens < target * MIN_GAIN || steady <= 0) return false;
  const isWarm = lifetime && history.last !== null && now - history.last + ON_ITS_WAY < lifetime;
  const premium = lifetime ? Math.max(0, prices.write[ttl] - prices.read) : 0;
  const summary = (weight) =>
    usd(weight, isWarm ? prices.read : prices.input) + usd(summarySize(weight - target, window), prices.output);
  const step = Math.min(STEP, removed);
  const written = isWarm
    ? usd(Math.max(0, target - Math.max(0, tokens - history.tokens)), premium) : usd(target - tokens, premium);
  const price = written + summary(tokens);
  const each = (summary(tokens) - summary(tokens - step)) / step;
  const ahead = usd(removed * Math.min(history.requests, MAX_REQUESTS), steady);
  return price - each * removed <= usd(history.carried, steady) && price <= ahead;
}

// The first message of the tail: within the budget, but at least the protected ones.
// Where head, summary and tail do not fit below the threshold, the protected messages give way to `room`.
function tailStart(tokens, roles, from, last, budget, room) {
  let start = last + 1, size = 0;
  const fits = () => {
    const next = size + tokens[start - 2];
    return next <= budget || start > last || (last - start + 1 < PROTECTED && next <= room);
  };
  while (start > from && fits()) size += tokens[--start - 1];
  // The tail never begins with the results of a call that is gone.
  while (start > from && roles[start - 1] === "t") start--;
  return start;
}

// The times of the requests; an imported file has none, so they are `gap` seconds apart.
function timesOf(requests, gap) {
  const isRecorded = requests.length > 1 && requests.at(-1).time - requests[0].time > requests.length * 0.05;
  return requests.map((one, index) => (isRecorded && !gap ? one.time : index * (gap || 30)));
}
P.hasTimes = (requests) => requests.length > 1 && requests.at(-1).time - requests[0].time > requests.length * 0.05;

// options: model, ttl "5m" | "1h", threshold and target (shares), policy "threshold" | "cost" | "never", gap (seconds),
// window (tokens; the model's, if it is left out)
P.simulate = (derived, options) => {
  const { requests, sums, timeline } = derived;
  const { tokens, roles } = timeline.messages;
  const card = P.models[options.model];
  const window = options.window ?? Math.min(card.window, card.input_cap ?? card.window);
  const threshold = window * options.threshold, budget = threshold * options.target;
  const overhead = requests.length ? Math.max(0, ...requests.slice(0, 20).map((one) => one.parts[0])) : 0;
  const head = Math.min(FIRST_EXCHANGE, tokens.length);
  const times = timesOf(requests, options.gap);
  const lifetime = lifetimeOf(card, options.ttl);
  let from = 1, summary = 0, cached = 0, common = 0, history = { requests: 0, carried: 0, tokens: 0, last: null };
  const bills = [], total = { money: 0, read: 0, written: 0, plain: 0, output: 0, compactions: 0, summaries: 0, over: 0 };
  const sized = (last) => overhead + (from > head ? sums(1, Math.min(head, last)) + summary + sums(from, last) : sums(1, last));
  requests.forEach((request, index) => {
    const now = times[index], last = request.last;
    let prompt = sized(last);
    const target = overhead + sums(1, head) + summarySize(threshold, window) + budget;
    const isDue = prompt >= threshold && options.policy !== "never";
    if (last > head + 1 && (isDue || (options.policy === "cost" && pays(card, options.ttl, history, prompt, target, window, now)))) {
      const room = threshold - overhead - sums(1, head) - summarySize(threshold, window);
      const start = tailStart(tokens, roles, Math.max(from, head + 1), last, budget, room);
      const removed = (from > head ? summary + sums(from, start - 1) : sums(head + 1, start - 1));
      if (removed > MIN_SUMMARY && start > head + 1) {
        const size = summarySize(removed, window);
        const isWarm = lifetime && history.last !== null && now - history.last + ON_ITS_WAY < lifetime;
        const prices = pricesOf(card, prompt);
        const cost = usd(prompt, isWarm ? prices.read : prices.input) + usd(size, prices.output);
        [from, summary] = [start, size];
        common = overhead + sums(1, head);
        total.compactions++;
        total.summaries += cost;
        total.money += cost;
        prompt = sized(last);
        history = { ...history, carried: 0, tokens: 0 };
      }
    }
    const isAlive = lifetime > 0 && history.last !== null && now - history.last < lifetime;
    let read = isAlive ? Math.min(cached, common, prompt) : 0;
    if (card.style === "openai_automatic") read = Math.floor(read / AUTOMATIC_STEP) * AUTOMATIC_STEP;
    if (read < card.minimum || card.style === "none") read = 0;
    const bill = billed(card, options.ttl, prompt, read, tokens[request.message - 1] ?? 0);
    bills.push(bill);
    for (const name of ["money", "read", "written", "plain", "output"]) total[name] += bill[name];
    if (prompt > window) total.over++;
    cached = common = prompt;
    history = { requests: history.requests + 1, carried: history.carried + Math.max(0, prompt - target), tokens: prompt, last: now };
  });
  return { bills, total };
};
