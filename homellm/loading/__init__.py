"""YAML text to Stack and back: positions, schema, defaults, edits that keep comments. Reads only what it is given."""
