"""The archive in SQL tables: everything that SQLite and PostgreSQL share."""
