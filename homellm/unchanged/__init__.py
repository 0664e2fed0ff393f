"""The short cut of `up`: what one that found nothing to do has proved, confirmed as unchanged in a tenth of the time.

It only ever confirms, and judges nothing. Whatever differs, cannot be read, is slow or odd is left to the ordinary way,
which decides and tells everything. Nearly all of an `up` with nothing to do is Python that loads, so this room takes
little of the standard library (no dataclasses, typing, pathlib, http) and nothing else; a contract of import-linter
and a test hold it to that. `keep` alone is of the ordinary way, and is loaded at its end.
"""
