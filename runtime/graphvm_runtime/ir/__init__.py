"""The one representation of programs, and how it is read, written, printed and checked."""
