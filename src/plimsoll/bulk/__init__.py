"""Compacts datasets: one function for each row, on all cores or on Ray, with output that survives a kill."""
