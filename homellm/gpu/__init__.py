"""What a GPU of each api needs in a container. Pure."""
