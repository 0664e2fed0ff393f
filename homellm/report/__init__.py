"""Event sinks: terminal, plain lines, JSON."""
