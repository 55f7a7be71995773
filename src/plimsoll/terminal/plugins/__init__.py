"""`plimsoll plugins`: look at plugins, choose an engine, check one, trust one."""
