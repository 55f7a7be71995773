"""The settings of every package: types, ranges, defaults and descriptions."""
