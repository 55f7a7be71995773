"""`plimsoll plugins`: list plugins, choose an engine, check and trust plugins."""
