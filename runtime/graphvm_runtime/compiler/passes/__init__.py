"""One pass a file; no pass knows another."""
