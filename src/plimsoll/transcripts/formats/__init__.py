"""The formats of conversation files, one module each, and the registry that recognises them."""
