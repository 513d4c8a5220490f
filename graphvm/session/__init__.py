"""Sessions: what is fed, run and fetched."""
