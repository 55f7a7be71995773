-- Everything has an owner: the operator, an access key (key:ID) or a room of a chat platform (room:ACCOUNT PLACE).

UPDATE sessions SET owner = 'key:' || owner WHERE owner IS NOT NULL;

-- What is said in a room belongs to the room, and so do forks of it; everything else without an owner is the operator's.
WITH RECURSIVE in_room (key, owner) AS (
    SELECT s.key, 'room:' || r.account || ' ' || r.place FROM sessions s JOIN mail_rooms r ON r.session = s.id
      WHERE s.owner IS NULL AND s.parent IS NULL
    UNION SELECT s.key, in_room.owner FROM sessions s JOIN in_room ON s.parent = in_room.key)
UPDATE sessions SET owner = in_room.owner FROM in_room WHERE in_room.key = sessions.key;
UPDATE sessions SET owner = 'operator' WHERE owner IS NULL;

ALTER TABLE sessions ALTER COLUMN owner SET NOT NULL;
DROP INDEX sessions_by_owner;
CREATE INDEX sessions_by_owner ON sessions (owner, state, updated);

-- Beside each message too, so that search never looks at another owner's. The rows of the operator are not written anew.
ALTER TABLE messages ADD COLUMN owner TEXT NOT NULL DEFAULT 'operator';
UPDATE messages SET owner = s.owner FROM sessions s WHERE s.key = messages.session AND s.owner <> 'operator';
ALTER TABLE messages ALTER COLUMN owner DROP DEFAULT;
CREATE INDEX messages_by_owner ON messages (owner, id);
DROP INDEX messages_by_handle;
CREATE INDEX messages_by_handle ON messages (owner, handle);
