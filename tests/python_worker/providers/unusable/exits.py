"""Exits during loading."""
import sys

sys.exit(7)
