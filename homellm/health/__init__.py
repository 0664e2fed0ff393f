"""Log line to Signal; readiness; checks that hold asked against observed. Pure."""
