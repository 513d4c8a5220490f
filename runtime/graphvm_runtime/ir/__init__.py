"""Node, Graph and Function: the one IR, with its readers, writers and rewriters."""
