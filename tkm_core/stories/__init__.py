"""What a plan or a comparison says, in words."""
