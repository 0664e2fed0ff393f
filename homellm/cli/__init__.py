"""One file a verb; the only place where things are wired together."""
