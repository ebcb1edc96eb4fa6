"""Speed and quality as ratios against peers in one run."""
