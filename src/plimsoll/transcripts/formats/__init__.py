"""The formats of conversation files, one file for each, and the registry that recognises them."""
