"""`plimsoll tour`: a guided tour through one compaction, without a key or a network."""
