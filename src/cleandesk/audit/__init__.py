"""Questions asked of a record or a world after or without a run."""
