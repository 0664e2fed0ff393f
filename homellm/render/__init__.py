"""ContainerSpec to API body, docker run and compose, and back. Pure."""
