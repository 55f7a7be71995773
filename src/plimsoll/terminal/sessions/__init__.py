"""`plimsoll sessions`: list, show and change stored conversations."""
