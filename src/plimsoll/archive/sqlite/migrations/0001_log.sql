-- The log, the views over it, and what happened to them.

CREATE TABLE sessions (
    key        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    model      TEXT NOT NULL,
    engine     TEXT NOT NULL,
    parent     INTEGER REFERENCES sessions (key),
    forked_at  INTEGER NOT NULL DEFAULT 0,   -- the last message that belongs to the parent
    created    REAL NOT NULL,
    updated    REAL NOT NULL,
    messages   INTEGER NOT NULL DEFAULT 0,   -- the sequence number of the newest one
    tokens     INTEGER NOT NULL DEFAULT 0,
    view       INTEGER NOT NULL DEFAULT 0,   -- 0: the log itself
    state      TEXT NOT NULL DEFAULT 'active'
);
CREATE INDEX sessions_by_update ON sessions (state, updated);
CREATE INDEX sessions_by_parent ON sessions (parent);

-- Append-only. `total` is the sum of the tokens so far, so that any run of messages is weighed by two rows.
CREATE TABLE messages (
    id        INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    sequence  INTEGER NOT NULL,
    role      TEXT NOT NULL,
    tokens    INTEGER NOT NULL,
    total     INTEGER NOT NULL,
    time      REAL NOT NULL,
    digest    BLOB NOT NULL,
    handle    TEXT NOT NULL,
    body      TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_in_order ON messages (session, sequence);
CREATE INDEX messages_by_handle ON messages (handle);
CREATE INDEX messages_by_time ON messages (time);

CREATE TABLE turns (
    session  INTEGER NOT NULL REFERENCES sessions (key),
    turn     TEXT NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID;

CREATE TABLE pins (
    session   INTEGER NOT NULL REFERENCES sessions (key),
    sequence  INTEGER NOT NULL,
    time      REAL NOT NULL,
    PRIMARY KEY (session, sequence)
) WITHOUT ROWID;

CREATE TABLE nodes (
    id        TEXT PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    kind      TEXT NOT NULL,
    depth     INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    model     TEXT NOT NULL,
    degraded  INTEGER NOT NULL,
    created   REAL NOT NULL,
    details   TEXT NOT NULL,
    body      TEXT NOT NULL
);
CREATE INDEX nodes_by_session ON nodes (session);

-- What a node was made from: messages `first` to `last`, or another node.
CREATE TABLE edges (
    node      TEXT NOT NULL REFERENCES nodes (id),
    position  INTEGER NOT NULL,
    first     INTEGER,
    last      INTEGER,
    source    TEXT REFERENCES nodes (id),
    PRIMARY KEY (node, position)
) WITHOUT ROWID;
CREATE INDEX edges_by_source ON edges (source);

-- Messages in other words. A later view that says the same refers to the same row.
CREATE TABLE shortenings (
    id        INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    sequence  INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    digest    BLOB NOT NULL,
    handle    TEXT NOT NULL,
    body      TEXT NOT NULL
);
CREATE UNIQUE INDEX shortenings_once ON shortenings (session, sequence, digest);

-- AUTOINCREMENT: the number of a view is never given twice.
CREATE TABLE views (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    session   INTEGER NOT NULL REFERENCES sessions (key),
    previous  INTEGER NOT NULL,
    through   INTEGER NOT NULL,
    created   REAL NOT NULL
);
CREATE INDEX views_by_session ON views (session);

CREATE TABLE view_references (
    view        INTEGER NOT NULL REFERENCES views (id),
    position    INTEGER NOT NULL,
    first       INTEGER,
    last        INTEGER,
    shortening  INTEGER REFERENCES shortenings (id),
    node        TEXT REFERENCES nodes (id),
    PRIMARY KEY (view, position)
) WITHOUT ROWID;
CREATE INDEX view_references_by_node ON view_references (node) WHERE node IS NOT NULL;
CREATE INDEX view_references_by_shortening ON view_references (shortening) WHERE shortening IS NOT NULL;

CREATE TABLE events (
    id               INTEGER PRIMARY KEY,
    session          INTEGER NOT NULL REFERENCES sessions (key),
    time             REAL NOT NULL,
    trigger          TEXT NOT NULL,
    engine           TEXT NOT NULL,
    outcome          TEXT NOT NULL,
    reason           TEXT NOT NULL,
    messages_before  INTEGER NOT NULL,
    messages_after   INTEGER NOT NULL,
    tokens_before    INTEGER NOT NULL,
    tokens_after     INTEGER NOT NULL,
    ledger           TEXT NOT NULL,
    model            TEXT NOT NULL,
    money            REAL,
    seconds          REAL NOT NULL,
    waited           REAL NOT NULL,
    view_before      INTEGER NOT NULL,
    view_after       INTEGER NOT NULL
);
CREATE INDEX events_by_session ON events (session);

CREATE TABLE usage (
    id           INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES sessions (key),
    time         REAL NOT NULL,
    purpose      TEXT NOT NULL,
    model        TEXT NOT NULL,
    input        INTEGER NOT NULL,
    cache_read   INTEGER NOT NULL,
    cache_write  INTEGER NOT NULL,
    output       INTEGER NOT NULL,
    money        REAL
);
CREATE INDEX usage_by_session ON usage (session);

-- A row stays when its lease is given back: `fence` must never go down.
CREATE TABLE leases (
    session  INTEGER NOT NULL REFERENCES sessions (key),
    purpose  TEXT NOT NULL,
    holder   TEXT NOT NULL,
    expires  REAL NOT NULL,
    fence    INTEGER NOT NULL,
    PRIMARY KEY (session, purpose)
) WITHOUT ROWID;
