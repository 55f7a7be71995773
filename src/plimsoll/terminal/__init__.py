"""A person in: the `plimsoll` command, one file per subcommand, loaded when it is called."""
