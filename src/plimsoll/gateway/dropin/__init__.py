"""The drop-in endpoints: clients use their provider's API unchanged, and the gateway keeps the view small."""
