-- What search needs of every message, beside the log so that the log is written once and never changed.
CREATE TABLE texts (
    id      BIGINT PRIMARY KEY REFERENCES messages (id),
    words   TSVECTOR,        -- NULL where there are too many for one: the message itself is asked
    folded  TEXT NOT NULL    -- without case
);
CREATE INDEX texts_by_word ON texts USING gin (words);
CREATE INDEX texts_without_words ON texts (id) WHERE words IS NULL;
