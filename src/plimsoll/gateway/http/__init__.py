"""HTTP helpers: request bodies within limits, responses, errors, and disconnected clients."""
