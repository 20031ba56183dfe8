"""Dies during loading."""
import os

os.abort()
