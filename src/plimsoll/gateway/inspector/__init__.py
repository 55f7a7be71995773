"""The inspector page over HTTP: in the gateway, and on this machine alone for `plimsoll inspect`."""
