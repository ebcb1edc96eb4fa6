"""The path for rows beyond memory: a few passes over them, and everything else on the cells of a grid."""
