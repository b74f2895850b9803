"""What people watch while it happens."""
