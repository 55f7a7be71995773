-- What people did to a session, and who: the views are equal where an action left the view as it was.
CREATE TABLE actions (
    id           INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES sessions (key),
    time         REAL NOT NULL,
    actor        TEXT NOT NULL,
    action       TEXT NOT NULL,
    details      TEXT NOT NULL,   -- JSON
    view_before  INTEGER NOT NULL,
    view_after   INTEGER NOT NULL
);
CREATE INDEX actions_by_session ON actions (session);
CREATE INDEX actions_by_view ON actions (view_after);

ALTER TABLE events ADD COLUMN author TEXT NOT NULL DEFAULT '';   -- who asked for it; empty: nobody did

-- The owner whose sessions a read-only key reads; NULL: the key reads and writes its own.
ALTER TABLE access_keys ADD COLUMN reads TEXT;
