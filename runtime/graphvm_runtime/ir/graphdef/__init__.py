"""GraphDef and other messages, read and written."""
