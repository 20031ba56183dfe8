"""Ends while it is loaded."""
import sys

sys.exit(7)
