"""`plimsoll sessions`: look at stored conversations, and work on them."""
