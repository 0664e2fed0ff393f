"""The group of all verbs: how its help is laid out, and what it says of verbs that it does not have."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

from homellm.cli.selection import nearest
from homellm.errors import UsageError

#: The verbs in the order in which people meet them.
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Run", ("up", "down", "restart", "pull")),
    ("Look", ("plan", "check", "ps", "logs", "doctor", "fit", "explain")),
    ("Print", ("endpoints", "render", "config", "schema", "version")),
)

NAMES = tuple(name for _, names in SECTIONS for name in names)

#: Verbs of the design that this version lacks.
LATER = frozenset(
    {
        "init",
        "import",
        "set",
        "edit",
        "history",
        "rollback",
        "outdated",
        "bench",
        "sweep",
        "watch",
        "top",
    }
)


#: What other programs call a verb of ours.
MEANT = {
    "stop": "down",
    "rm": "down",
    "remove": "down",
    "start": "up",
    "run": "up",
    "apply": "up",
    "validate": "config",
    "lint": "config",
    "list": "ps",
    "ls": "ps",
    "status": "ps",
    "verify": "check",
}

#: Options that may stand before the verb, and those of them whose value is the next word.
_BEFORE = frozenset({"-f", "--file", "--format", "--no-color", "--debug"})
_WITH_VALUE = frozenset({"-f", "--file", "--format"})


def verb_in(argv: list[str]) -> str | None:
    """The verb of a command line, where one look tells it; None where help, or the whole framework, has to answer."""
    words = iter(argv)
    for word in words:
        if word in NAMES:
            return word
        if word.partition("=")[0] not in _BEFORE:
            return None
        if word in _WITH_VALUE:
            next(words, None)
    return None


#: What the framework writes behind an argument's name: a type of Python's.
_TYPE = re.compile(r" <\S+>$")


class Verb(TyperCommand):
    """One verb, whose help says nothing of Python's types."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each where it has something to say."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            shown = [one for one in self.get_params(ctx) if one.param_type_name == kind]
            rows = [record for record in (one.get_help_record(ctx) for one in shown) if record is not None]
            if kind == "argument":
                rows = [(_TYPE.sub("", name), text) for name, text in rows]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Verbs(TyperGroup):
    """The verbs by section, each with one line."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the framework's signature
        """Verbs in the order of their sections, any others after them."""
        ordered = [name for _, names in SECTIONS for name in names if name in self.commands]
        return ordered + [name for name in self.commands if name not in ordered]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of the help."""
        width = max(map(len, self.commands))
        listed = {name: self.commands[name] for name in self.list_commands(ctx)}
        others = tuple(name for name in listed if all(name not in names for _, names in SECTIONS))
        for title, names in (*SECTIONS, ("Other", others)):
            # Padded alike, so that the texts of all sections begin in one column.
            rows = [(name.ljust(width), listed[name].get_short_help_str(200)) for name in names if name in listed]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that the command line names. Raises UsageError for one that there is not."""
        name = args[0]
        if name in self.commands or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if name in LATER:
            raise UsageError(f"{name} is known, not in this version", hint="homellm --help lists what there is.")
        meant = f"Did you mean {MEANT[name]}?" if name in MEANT else nearest(name, self.list_commands(ctx))
        hint = f"{meant} homellm --help lists what there is.".strip()
        raise UsageError(f"there is no verb {name}", hint=hint)
