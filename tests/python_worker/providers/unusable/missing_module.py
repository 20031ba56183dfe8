"""Needs what nobody has."""
import a_library_that_is_not_there
