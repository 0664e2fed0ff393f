"""Gather the world, carry out plans, verify, converge. The only room that decides when things happen."""
