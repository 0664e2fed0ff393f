"""Desired and observed to a Plan of steps; the ladder over past outcomes. Pure."""
