"""The edge to the client: bodies in, answers and errors out, whoever leaves early."""
