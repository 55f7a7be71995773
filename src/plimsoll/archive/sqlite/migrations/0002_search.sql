-- Two indexes over the words of every message. Neither keeps the text: it is in the log.

-- Words, with their places, so that phrases are found and relevance can be told.
CREATE VIRTUAL TABLE words USING fts5 (
    text, content = '', tokenize = "unicode61 remove_diacritics 2"
);

-- Three-character pieces without places: which messages may hold a substring. The message itself decides.
CREATE VIRTUAL TABLE grams USING fts5 (
    text, content = '', detail = none, columnsize = 0, tokenize = "trigram"
);

INSERT INTO words (rowid, text) SELECT id, spaced_text (body) FROM messages;
INSERT INTO grams (rowid, text) SELECT id, plain_text (body) FROM messages;
