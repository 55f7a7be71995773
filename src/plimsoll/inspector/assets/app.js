// The page: which session, which part of it, and what is chosen there. All of it stands in the address.
const P = globalThis.Plimsoll;
const { html } = P;
const { useCallback, useEffect, useMemo, useRef, useState } = P.hooks;
const TABS = [["timeline", "Timeline"], ["compactions", "Compactions"], ["cache", "Cache"], ["search", "Search"]];
const EMPTY_QUERY = { text: "", mode: "", role: "", tool: "", file: "", errors: false, everywhere: false };

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^\d{1,9}$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
  return {
    token: given.get("token") ?? "", session: /^[\w-]+$/.test(given.get("session") ?? "") ? given.get("session") : "", tab: given.get("tab") ?? "timeline",
    message: number("message"), compaction: number("compaction"),
  };
}

function writeAddress({ session, tab, message, compaction }) {
  const given = new URLSearchParams();
  if (session) given.set("session", session);
  if (session && tab !== "timeline") given.set("tab", tab);
  if (message) given.set("message", message);
  if (compaction && tab === "compactions") given.set("compaction", compaction);
  const wanted = `#${given}`;
  if (location.hash !== wanted && (location.hash || given.size)) history.pushState(null, "", wanted);
}

function useTheme() {
  const [theme, set] = useState(localStorageGet("plimsoll-theme") ?? "");
  useEffect(() => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    dispatchEvent(new Event("plimsoll-theme"));
    try {
      localStorage.setItem("plimsoll-theme", theme);
    } catch {
      // A file has no storage in some browsers.
    }
  }, [theme]);
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return [isDark, () => set(isDark ? "light" : "dark")];
}

function localStorageGet(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function KeyForm({ source, problem, onEntered }) {
  const [key, setKey] = useState("");
  return html`<main class="entrance"><form class="panel" onSubmit=${(event) => {
      event.preventDefault();
      source.keep(key.trim());
      onEntered();
    }}>
    <h1>Plimsoll inspector</h1>
    <p>${P.visible(problem)}</p>
    <label>Key of this gateway <input type="password" autocomplete="off" value=${key} autofocus
      onInput=${(event) => setKey(event.target.value)} /></label>
    <button class="primary" disabled=${!key.trim()}>Open</button>
  </form></main>`;
}

function useSession(source, id, onProblem) {
  const [timeline, setTimeline] = useState(null);
  const [isLive, setLive] = useState(false);
  const pending = useRef(null);
  const load = useCallback(async () => {
    if (!id) return;
    try {
      const loaded = await source.timeline(id);
      if (pending.current?.id === id) setTimeline(loaded);
    } catch (error) {
      onProblem(error, id);
    }
  }, [source, id]);
  useEffect(() => {
    pending.current = { id };
    setTimeline(null);
    load();
  }, [load]);
  useEffect(() => {
    if (!id || source.isStatic) return undefined;
    const ended = new AbortController();
    let known = "", timer = null;
    const changed = (state) => {
      const next = JSON.stringify(state);
      if (known && next !== known && !timer)
        timer = setTimeout(() => {
          timer = null;
          load();
        }, 250);
      known = next;
      setLive(true);
    };
    const follow = async () => {
      for (let wait = 1000; !ended.signal.aborted; ) {
        const problem = await source.watch(id, changed, ended.signal).then(() => null, (error) => error);
        if (!problem) {
          wait = 1000; // the server ends each stream after a while
          continue;
        }
        setLive(false);
        if (problem.status === 404) {
          onProblem(problem, id);
          return;
        }
        await new Promise((done) => setTimeout(done, wait));
        wait = Math.min(wait * 2, 30000);
      }
    };
    follow();
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [source, id, load]);
  return [timeline, isLive, load];
}

function Header({ place, go, session, isLive, source, theme, onAction }) {
  const [isDark, toggle] = theme;
  return html`<header class="top">
    <button class="brand" onClick=${() => go({ session: "", message: null })} disabled=${source.isStatic}
      aria-label="Plimsoll inspector: all sessions"><span class="logo" aria-hidden="true"></span>Plimsoll</button>
    ${session && html`<div class="title"><h1>${P.plain(session.title, 90) || session.id}</h1>
      <small>${session.id} · ${P.plain(session.model, 40) || "no model"}
        ${!source.isStatic && html` · <span class=${isLive ? "live on" : "live"}>${isLive ? "live" : "not connected"}</span>`}</small></div>`}
    ${!session && html`<div class="title"><h1>${place.session ? "" : "Sessions"}</h1></div>`}
    ${session && html`<nav class="tabs" aria-label="Parts of the session">${TABS.map(([tab, label]) => html`<button key=${tab}
      aria-current=${place.tab === tab ? "page" : undefined} onClick=${() => go({ tab })}>${label}</button>`)}</nav>`}
    ${session && !source.isStatic && html`<${P.ActionMenu} onAction=${onAction} />`}
    ${!place.session && html`<nav class="tabs" aria-label="Parts"><button aria-current=${place.tab !== "search" ? "page" : undefined}
      onClick=${() => go({ tab: "timeline" })}>Sessions</button><button aria-current=${place.tab === "search" ? "page" : undefined}
      onClick=${() => go({ tab: "search" })}>Search</button></nav>`}
    <button class="plain theme" aria-label=${isDark ? "Light colours" : "Dark colours"} title="Light or dark colours"
      onClick=${toggle}>${isDark ? "☀" : "☾"}</button>
  </header>`;
}

function Overview({ derived }) {
  const { timeline, requests } = derived;
  const inView = P.viewTokens(derived);
  const last = requests.at(-1);
  const money = timeline.requests.money.filter((one) => one !== null).reduce((a, b) => a + b, 0);
  const done = timeline.events.filter((one) => one.outcome === "compacted").length;
  return html`<dl class="figures overview">
    <${P.Figure} label="In the view" value=${P.count(last && last.last >= timeline.session.messages - 1 ? Math.max(inView, 0) : inView)}
      note=${`of ${P.short(timeline.window)} (${P.percent(inView / timeline.window)})`} />
    <${P.Figure} label="Whole log" value=${P.count(timeline.session.tokens)} note=${P.plural(timeline.session.messages, "message")} />
    <${P.Figure} label="Requests" value=${P.count(requests.length)} />
    <${P.Figure} label="Compactions" value=${P.count(done)} />
    <${P.Figure} label="Cost" value=${timeline.requests.money.length ? P.money(money) : "–"}
      note=${timeline.requests.money.length && requests.some((one) => !one.usage) ? "as far as recorded" : ""} />
  </dl>`;
}

function SessionPage({ source, place, go, derived, reload, tell, query, setQuery, action, setAction, isGone }) {
  const { requests } = derived;
  const [cursor, setCursor] = useState(Math.max(0, requests.length - 1));
  const [filter, setFilter] = useState({ role: "", state: "" });
  const followed = useRef(requests.length);
  useEffect(() => {
    // Stay at the newest request while the session grows.
    if (cursor === followed.current - 1 && requests.length > followed.current) setCursor(requests.length - 1);
    followed.current = requests.length;
  }, [requests.length]);
  const chosen = useMemo(() => (place.message ? { number: place.message, isNear: place.isNear, isOpened: place.isOpened } : null),
    [place.message, place.isNear, place.isOpened]);
  const openMessage = (number) => {
    setFilter({ role: "", state: "" });
    go({ tab: "timeline", message: number, isNear: false, isOpened: true });
  };
  const search = (text) => {
    setQuery({ ...EMPTY_QUERY, text, mode: "substring" });
    go({ tab: "search" });
  };
  const at = Math.min(cursor, Math.max(0, requests.length - 1));
  const choose = (index) => {
    setCursor(index);
    if (requests[index]) go({ message: requests[index].message, isNear: false, isOpened: false });
  };
  const shown = {
    timeline: () => html`<${P.Timeline} derived=${derived} cursor=${at} onCursor=${choose}
        onOpen=${(index) => go({ message: requests[index]?.message, isOpened: true })}
        onCompaction=${(event) => go({ tab: "compactions", compaction: event.number })} />
      <${P.Messages} session=${place.session} source=${source} derived=${derived} chosen=${chosen} filter=${filter}
        onFilter=${setFilter} onAction=${setAction}
        onChoose=${(one) => go({ message: one?.number ?? null, isNear: one?.isNear ?? true, isOpened: one?.isOpened ?? false })} />`,
    compactions: () => html`<${P.Compactions} session=${place.session} source=${source} derived=${derived} number=${place.compaction}
        onPick=${(compaction) => go({ compaction })} onMessage=${openMessage} onSearch=${search} />`,
    cache: () => html`<${P.Cache} derived=${derived} cursor=${at} onCursor=${setCursor} onMessage=${openMessage}
        onCompaction=${(event) => go({ tab: "compactions", compaction: event.number })} />`,
    search: () => html`<${P.Search} session=${place.session} source=${source} query=${query} onQuery=${setQuery}
        onHit=${(hit) => hit.session === place.session ? openMessage(hit.number)
          : go({ session: hit.session, tab: "timeline", message: hit.number, isNear: false, isOpened: true })} />`,
  };
  return html`<main>
    ${isGone && html`<p class="note" role="alert">This session was deleted. The page shows its last state.</p>`}
    <${Overview} derived=${derived} />
    ${(shown[place.tab] ?? shown.timeline)()}
    ${action && html`<${P.ActionDialog} key=${JSON.stringify(action)} action=${action} session=${place.session} source=${source}
      derived=${derived} onMessage=${openMessage} onSearch=${search} onClose=${() => setAction(null)} onDone=${(text, id) => {
        setAction(null);
        tell({ text });
        if (id) go({ session: id, tab: "timeline", message: null });
        else reload();
      }} />`}
  </main>`;
}

function App({ source }) {
  const [place, setPlace] = useState(readAddress);
  const [entry, setEntry] = useState(source.isStatic ? "in" : "asking");
  const [problem, setProblem] = useState("");
  const [notice, setNotice] = useState(null);
  const [missing, setMissing] = useState(null); // the session that does not exist, or not any more
  const [query, setQuery] = useState(EMPTY_QUERY);
  const [action, setAction] = useState(null);
  const theme = useTheme();
  const go = useCallback((changed) => setPlace((old) => {
    const next = { ...old, ...changed };
    if (changed.session !== undefined && changed.session !== old.session && changed.message === undefined) next.message = null;
    return next;
  }), []);
  const fail = useCallback((error, session) => {
    if (error.status === 404 && session) setMissing({ session, text: error.message });
    else if (error.status === 401) {
      setProblem(error.message);
      setEntry("key");
    } else setNotice({ text: error.message, isError: true });
  }, []);
  const enter = useCallback(async () => {
    const { token } = readAddress();
    try {
      if (token) {
        history.replaceState(null, "", location.hash.replace(/token=[^&]*&?/, ""));
        await source.enter(token);
      }
      await source.get("/sessions?limit=1");
      setEntry("in");
    } catch (error) {
      source.keep("");
      setProblem(error.message);
      setEntry("key");
    }
  }, [source]);
  useEffect(() => {
    if (source.isStatic) go({ session: source.session });
    else enter();
    const back = () => setPlace(readAddress());
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  useEffect(() => {
    if (entry === "in" && !source.isStatic) writeAddress(place);
  }, [place, entry]);
  const [timeline, isLive, reload] = useSession(source, entry === "in" ? place.session : "", fail);
  const derived = useMemo(() => timeline && P.derive(timeline), [timeline]);
  useEffect(() => {
    document.title = timeline ? `${P.plain(timeline.session.title, 60) || timeline.session.id} · Plimsoll` : "Plimsoll inspector";
  }, [timeline]);
  if (entry === "asking") return html`<div class="loading" role="status">Opening …</div>`;
  if (entry === "key") return html`<${KeyForm} source=${source} problem=${problem} onEntered=${enter} />`;
  const isGone = missing !== null && missing.session === place.session;
  const body = place.session
    ? derived && derived.timeline.session.id === place.session
      ? html`<${SessionPage} key=${place.session} source=${source} place=${place} go=${go} derived=${derived} reload=${reload}
          tell=${setNotice} query=${query} setQuery=${setQuery} action=${action} setAction=${setAction} isGone=${isGone} />`
      : isGone ? html`<main><section class="panel"><${P.Empty} title="This session does not exist">${P.visible(missing.text)}</${P.Empty}>
          <p class="centred"><button onClick=${() => go({ session: "", tab: "timeline" })}>All sessions</button></p></section></main>`
      : html`<main><div class="loading" role="status">Loading session …</div></main>`
    : place.tab === "search"
      ? html`<main><${P.Search} source=${source} query=${query} onQuery=${setQuery}
          onHit=${(hit) => go({ session: hit.session, tab: "timeline", message: hit.number, isNear: false, isOpened: true })} /></main>`
      : html`<main><${P.SessionList} source=${source} onOpen=${(session) => go({ session, tab: "timeline" })} /></main>`;
  return html`<${Header} place=${place} go=${go} session=${place.session ? timeline?.session : null} isLive=${isLive} source=${source}
      theme=${theme} onAction=${setAction} />
    ${body}<${P.Notice} notice=${notice} onClose=${() => setNotice(null)} />`;
}

globalThis.preact.render(html`<${App} source=${P.openSource()} />`, document.getElementById("page"));
