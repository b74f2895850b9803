"""Programs of other people that do the same work, in an environment of their own."""
