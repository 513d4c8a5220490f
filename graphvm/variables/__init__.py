"""Variables: their classes, scopes, collections and initial values."""
