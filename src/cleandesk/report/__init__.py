"""What people read: summaries at 80 columns."""
