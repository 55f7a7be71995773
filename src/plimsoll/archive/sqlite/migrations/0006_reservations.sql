-- What processes have reserved of a key's daily limits for requests under way. A process that crashed leaves its
-- row behind; it counts until it expires.
CREATE TABLE access_reservations (
    key      TEXT NOT NULL REFERENCES access_keys (id),
    holder   TEXT NOT NULL,
    tokens   INTEGER NOT NULL,
    money    REAL NOT NULL,
    expires  REAL NOT NULL,
    PRIMARY KEY (key, holder)
) WITHOUT ROWID;
