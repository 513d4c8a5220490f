"""Derivatives of mathematics."""
