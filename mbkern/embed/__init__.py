"""Calling the compiled right-hand side from other simulators."""
