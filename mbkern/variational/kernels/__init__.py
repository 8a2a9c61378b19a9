"""Derivatives of the right-hand side as C functions of the coordinates (q, p), for integrators. Nopython only."""
