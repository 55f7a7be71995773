"""Compacts datasets: one function per row, on all cores or on Ray, with output that survives a killed run."""
