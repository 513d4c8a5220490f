"""Functions: bodies traced from Python, and those that a user defines."""
