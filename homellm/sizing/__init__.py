"""What a model needs of memory. Pure."""
