"""Many processes as one machine: workers, what they say to each other, who decides what."""
