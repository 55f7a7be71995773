"""The archive in SQL tables: everything that does not depend on whose tables they are."""
