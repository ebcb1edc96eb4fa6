"""Remember one visit: its settings and address, and the cities, rules and plans it works with."""
