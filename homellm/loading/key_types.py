"""What the keys of all sections of a stack file are made of: readers with their JSON Schema, and shared sections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from homellm.domain.stack import RestartPolicy, Volume
from homellm.loading import compound, values

#: Docker refuses a limit below 6 MiB.
MIN_MEMORY_BYTES = 6 * 1024**2
SIZE_PATTERN = r"^[0-9]+(\.[0-9]+)? ?[kmgtpKMGTP]?[iI]?[bB]?$"
DURATION_PATTERN = r"^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$"


def read_by(reader: Callable[..., Any], **schema: Any) -> tuple[Any, Any]:
    """A value that `reader` makes of a text, and what the schema says of it."""
    return PlainValidator(reader), WithJsonSchema(schema)


def whole_number(minimum: int, maximum: int, hint: str = "") -> tuple[Any, Any]:
    """A whole number in a range."""
    return read_by(values.whole(minimum, maximum, hint), type="integer", minimum=minimum, maximum=maximum)


def one_word(*known: str, **more: Any) -> tuple[Any, Any]:
    """One word of several."""
    return read_by(values.one_of(*known, **more), type="string", enum=list(known))


RESTART_POLICIES = one_word(
    "no",
    "always",
    "on-failure",
    "unless-stopped",
    synonyms={"false": "no", "never": "no", "off": "no", "true": "always"},
)
PULL_POLICIES = one_word(
    "missing", "always", "never", synonyms={"if_not_present": "missing", "ifnotpresent": "missing"}
)
FLASH_ATTENTION = one_word("on", "off", "auto", synonyms={"true": "on", "yes": "on", "false": "off", "no": "off"})

Flag = Annotated[bool, *read_by(values.flag, type="boolean")]
Text = Annotated[str, *read_by(values.passed_on, type="string")]
HostPath = Annotated[Path, *read_by(compound.path, type="string")]
Name = Annotated[str, *read_by(compound.name, type="string", pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]*$")]
Size = Annotated[int, *read_by(values.size(1), type=["string", "integer"], pattern=SIZE_PATTERN)]
Memory = Annotated[int, *read_by(values.size(MIN_MEMORY_BYTES), type=["string", "integer"], pattern=SIZE_PATTERN)]
Duration = Annotated[int, *read_by(values.duration(1), type="string", pattern=DURATION_PATTERN)]
Port = Annotated[int, *read_by(values.port, type="integer", minimum=1, maximum=65535)]
Bind = Annotated[str, *read_by(compound.bind, type="string")]
Image = Annotated[str, *read_by(compound.image, type="string")]
Cpuset = Annotated[str, *read_by(values.cpuset, type=["string", "integer"])]
Networks = Annotated[
    tuple[str, ...],
    *read_by(compound.networks, anyOf=[{"type": "array", "items": {"type": "string"}}, {"type": "object"}]),
]


class Keys(BaseModel):
    """What all sections share: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class LogKeys(Keys):
    """The engine's log driver and the rotation of its files."""

    driver: Name | None = Field(None, description="The log driver; left out, the daemon's own is used.")
    max_size: Annotated[str | None, *read_by(compound.log_size, type="string")] = Field(
        None, description="Size at which a log file is rotated: 10m, 500k, 1g. Default 10m."
    )
    max_files: Annotated[int | None, *whole_number(1, 1000)] = Field(
        None, description="How many log files are kept. Default 3."
    )


# Keys that every container of a stack has, whatever serves in it: one type and one description of each.
PublishedPort = Annotated[
    Port | None,
    Field(description="The port published on the host. Left out, only containers of the stack's network reach it."),
]
PublishedOn = Annotated[
    Bind | None,
    Field(description="The address the port is published on. Default 127.0.0.1; 0.0.0.0 is every network."),
]
Cpus = Annotated[
    Cpuset | None,
    Field(description="The CPUs it may run on: 0-3 or 0,2,4-7. The number of threads follows from it."),
]
CpuShares = Annotated[
    Annotated[int, *whole_number(2, 262144)] | None,
    Field(description="Its weight when CPUs are contended; Docker's normal is 1024."),
]
Restart = Annotated[
    Annotated[RestartPolicy, *RESTART_POLICIES] | None,
    Field(description="What Docker does when it ends: no, always, on-failure or unless-stopped (the default)."),
]
StopGrace = Annotated[
    Duration | None, Field(description="How long a busy server may take to stop: 10s, 2m. Default 10s.")
]
Labels = Annotated[
    dict[Text, Text] | None, Field(description="Labels of the container; merged with those of defaults.")
]
Mounts = Annotated[
    list[Annotated[Volume, *read_by(compound.volume, type="string")]] | None,
    Field(description="Further mounts: `./folder:/inside:ro` or `volume-name:/inside`."),
]
JoinedNetworks = Annotated[
    Networks | None,
    Field(description="Further networks that exist already: a list, or `name: {external: true}`."),
]
Log = Annotated[LogKeys | None, Field(description="The engine's log driver and rotation.")]
