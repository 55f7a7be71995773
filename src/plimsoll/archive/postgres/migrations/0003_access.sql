-- Who may use a gateway, what each has used, and whose a session is.

ALTER TABLE sessions ADD COLUMN owner TEXT;   -- the id of an access key; NULL: whoever has the archive
CREATE INDEX sessions_by_owner ON sessions (owner, state, updated) WHERE owner IS NOT NULL;

-- `digest` is of the secret half of a key; the secret itself is nowhere. A revoked key stays: sessions name it.
CREATE TABLE access_keys (
    id                   TEXT PRIMARY KEY,
    name                 TEXT NOT NULL,
    digest               BYTEA NOT NULL,
    created              DOUBLE PRECISION NOT NULL,
    revoked              DOUBLE PRECISION,
    requests_per_minute  BIGINT,
    tokens_per_day       BIGINT,
    money_per_day        DOUBLE PRECISION
);
CREATE UNIQUE INDEX access_keys_by_name ON access_keys (name) WHERE revoked IS NULL;

-- What a key has used in a minute or a day that began at `start`. `granted` counts requests that processes
-- have set aside, made or not.
CREATE TABLE access_usage (
    key       TEXT NOT NULL REFERENCES access_keys (id),
    seconds   BIGINT NOT NULL,
    start     BIGINT NOT NULL,
    granted   BIGINT NOT NULL DEFAULT 0,
    requests  BIGINT NOT NULL DEFAULT 0,
    tokens    BIGINT NOT NULL DEFAULT 0,
    money     DOUBLE PRECISION NOT NULL DEFAULT 0,
    PRIMARY KEY (key, seconds, start)
);
