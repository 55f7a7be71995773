-- Replies that the gateway's clients continue by their ids: what each request added to its conversation.

CREATE TABLE replies (
    owner   TEXT NOT NULL,
    name    TEXT NOT NULL,   -- dialect, caller and id of the reply
    before  TEXT NOT NULL,   -- the name of the reply that it continues; empty: none
    body    TEXT NOT NULL,   -- the messages, as JSON
    time    DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (owner, name)
);
CREATE INDEX replies_age ON replies (time);
