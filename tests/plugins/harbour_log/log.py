import json
import sqlite3
import threading
from pathlib import Path


class Log:
    """Messages and summaries in one SQLite file. Holds a lock and a connection, so it cannot be copied."""

    def __init__(self, path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.connection = sqlite3.connect(str(path), check_same_thread=False)
        self.connection.executescript(
            "create table if not exists messages (id integer primary key, session text, fingerprint text,"
            " role text, content text, unique (session, fingerprint));"
            "create table if not exists summaries (id integer primary key, session text, first integer,"
            " last integer, words text);"
        )

    def add(self, session, messages):
        """The ids of the messages; those that are known keep theirs."""
        seen, found = {}, []
        with self.lock, self.connection:
            for message in messages:
                body = json.dumps(message, sort_keys=True)
                seen[body] = seen.get(body, 0) + 1
                fingerprint = f"{seen[body]} {body}"
                # Text is all that this plugin knows; a list of parts fails here.
                text = message["content"].strip().lower()
                self.connection.execute(
                    "insert or ignore into messages (session, fingerprint, role, content) values (?, ?, ?, ?)",
                    (session, fingerprint, message["role"], text),
                )
                row = self.connection.execute(
                    "select id from messages where session = ? and fingerprint = ?", (session, fingerprint)
                ).fetchone()
                found.append(row[0])
        return found

    def add_summary(self, session, ids, words):
        with self.lock, self.connection:
            self.connection.execute(
                "insert into summaries (session, first, last, words) values (?, ?, ?, ?)",
                (session, min(ids), max(ids), words),
            )

    def summaries(self, session):
        with self.lock:
            return self.connection.execute(
                "select id, first, last, words from summaries where session = ? order by id", (session,)
            ).fetchall()

    def grep(self, session, text):
        with self.lock:
            return self.connection.execute(
                "select id, content from messages where session = ? and content like ? order by id limit 5",
                (session, f"%{text.lower()}%"),
            ).fetchall()

    def between(self, first, last):
        with self.lock:
            return self.connection.execute(
                "select id, role, content from messages where id between ? and ?", (first, last)
            ).fetchall()

    def count(self):
        with self.lock:
            return self.connection.execute("select count(*) from messages").fetchone()[0]

    def check(self):
        with self.lock:
            return self.connection.execute("pragma integrity_check").fetchone()[0]
