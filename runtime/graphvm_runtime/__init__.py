"""The virtual machine that runs GraphVM graphs; needs nothing of `graphvm`."""
