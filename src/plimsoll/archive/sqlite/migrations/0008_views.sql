-- How long the log was when a view was made: which of its messages had no answer yet, and had to stay.
ALTER TABLE views ADD COLUMN log_length INTEGER NOT NULL DEFAULT 0;
