-- The bytes of a message's images, sounds and files, decoded.
ALTER TABLE messages ADD COLUMN media INTEGER NOT NULL DEFAULT 0;

-- Everything that the outline of a session needs, so that no row with its text is read.
CREATE INDEX messages_sizes ON messages (session, sequence, role, tokens, time, media);
