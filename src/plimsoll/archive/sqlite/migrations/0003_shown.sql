-- The form in which the model sees a message from the beginning, where the whole is too large for it.
CREATE TABLE shown (
    session   INTEGER NOT NULL REFERENCES sessions (key),
    sequence  INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (session, sequence)
) WITHOUT ROWID;
