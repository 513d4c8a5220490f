"""Runs programs."""
