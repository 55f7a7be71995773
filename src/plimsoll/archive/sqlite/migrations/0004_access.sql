-- Who may use a gateway, what each has used, and whose a session is.

ALTER TABLE sessions ADD COLUMN owner TEXT;   -- the id of an access key; NULL: whoever has the archive
CREATE INDEX sessions_by_owner ON sessions (owner, state, updated) WHERE owner IS NOT NULL;

-- `digest` is of the secret half of a key; the secret itself is nowhere. A revoked key stays: sessions name it.
CREATE TABLE access_keys (
    id                   TEXT PRIMARY KEY,
    name                 TEXT NOT NULL,
    digest               BLOB NOT NULL,
    created              REAL NOT NULL,
    revoked              REAL,
    requests_per_minute  INTEGER,
    tokens_per_day       INTEGER,
    money_per_day        REAL
);
CREATE UNIQUE INDEX access_keys_by_name ON access_keys (name) WHERE revoked IS NULL;

-- What a key has used in a minute or a day that began at `start`. `granted` counts requests that processes
-- have set aside, made or not.
CREATE TABLE access_usage (
    key       TEXT NOT NULL REFERENCES access_keys (id),
    seconds   INTEGER NOT NULL,
    start     INTEGER NOT NULL,
    granted   INTEGER NOT NULL DEFAULT 0,
    requests  INTEGER NOT NULL DEFAULT 0,
    tokens    INTEGER NOT NULL DEFAULT 0,
    money     REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (key, seconds, start)
) WITHOUT ROWID;
