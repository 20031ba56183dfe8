"""Declares nothing."""
import numpy
