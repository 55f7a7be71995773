"""`plimsoll chat`: chat with a model in the terminal, in a stored conversation."""
