"""`plimsoll chat`: a person and a model in the terminal, on a conversation that is never lost."""
