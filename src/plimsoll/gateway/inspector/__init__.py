"""The inspector page over HTTP: in the gateway, and on this machine only for `plimsoll inspect`."""
