"""What must stand on a machine before `homellm up` can serve a first model: an image and a model file.

Used by scripts/quickstart and by the engine tests; no part of the installed homellm.
"""
