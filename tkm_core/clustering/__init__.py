"""Tilted k-means: the objective, the estimator, the path over t, and the search behind them."""
