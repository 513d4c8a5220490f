"""Values that derivatives need of forward bodies: saved, accumulated or computed again."""
