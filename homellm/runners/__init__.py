"""Model and World to ContainerSpec, in the dialect of the image. Pure."""
