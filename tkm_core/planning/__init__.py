"""Plans, and what can be asked of them: trade-off, how many, service areas, groups, comparison of methods."""
