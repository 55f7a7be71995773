"""The drop-in endpoints: a client talks to its provider as always, and the gateway keeps its view small."""
