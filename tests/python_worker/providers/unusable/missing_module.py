"""Needs a module that does not exist."""
import a_library_that_is_not_there
