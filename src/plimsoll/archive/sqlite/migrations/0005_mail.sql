-- Messages from chat platforms until they are answered, how far each platform was read, and the session of each room.

CREATE TABLE mail_positions (
    account   TEXT PRIMARY KEY,
    position  TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE mail_rooms (
    account  TEXT NOT NULL,
    place    TEXT NOT NULL,
    session  TEXT NOT NULL DEFAULT '',
    told     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (account, place)
) WITHOUT ROWID;

-- A settled letter stays without its words: its name tells one that is sent again.
CREATE TABLE letters (
    id       INTEGER PRIMARY KEY,   -- the order in which they came
    account  TEXT NOT NULL,
    place    TEXT NOT NULL,
    event    TEXT NOT NULL,
    sender   TEXT NOT NULL,
    body     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    speaker  TEXT NOT NULL,
    time     REAL NOT NULL,
    settled  REAL,
    UNIQUE (account, place, event)
);
CREATE INDEX letters_waiting ON letters (account, id) WHERE settled IS NULL;
