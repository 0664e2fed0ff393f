"""What homellm knows of Open WebUI: the jobs that it runs in the background, and the variables that rule them.

Source: its documentation, "Environment Variable Configuration", and config.py of 0.12.4. All jobs are on by default,
but for autocompletion, which newer versions leave off; each sends the conversation again and takes a slot meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The setting that decides whether a variable counts after the first start; without it the database has the last word.
PERSISTENT_CONFIG = "ENABLE_PERSISTENT_CONFIG"


@dataclass(frozen=True, slots=True)
class Job:
    """A background job: its variable, what it does in words, and whether it is worth its slot."""

    variable: str
    words: str
    worth_it: bool = False


JOBS = (
    Job("ENABLE_TITLE_GENERATION", "titles", worth_it=True),
    Job("ENABLE_TAGS_GENERATION", "tags"),
    Job("ENABLE_FOLLOW_UP_GENERATION", "follow-up questions"),
    Job("ENABLE_AUTOCOMPLETE_GENERATION", "autocompletion while typing (off by default in newer versions)"),
    Job("ENABLE_SEARCH_QUERY_GENERATION", "search queries"),
    Job("ENABLE_RETRIEVAL_QUERY_GENERATION", "retrieval queries"),
)

#: Variables that no other program's container has.
_OWN_VARIABLES = frozenset({"WEBUI_SECRET_KEY", "WEBUI_BUILD_VERSION", "WEBUI_BUILD_HASH", "WEBUI_NAME", "WEBUI_AUTH"})
_IMAGE = "open-webui"
_URL_LISTS = ("OPENAI_API_BASE_URLS", "OPENAI_API_BASE_URL", "OLLAMA_BASE_URLS", "OLLAMA_BASE_URL")


@dataclass(frozen=True, slots=True)
class WebUi:
    """A running container of Open WebUI and its environment."""

    container: str
    env: Mapping[str, str]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs that are on, by the environment."""
        return tuple(job for job in JOBS if _is_on(self.env.get(job.variable)))

    @property
    def switched_off(self) -> tuple[Job, ...]:
        """The jobs that the environment switches off."""
        return tuple(job for job in JOBS if not _is_on(self.env.get(job.variable)))

    @property
    def persistent(self) -> bool:
        """Whether its database beats the environment once it has been started."""
        return _is_on(self.env.get(PERSISTENT_CONFIG))

    @property
    def task_models(self) -> tuple[str, ...]:
        """The models that the jobs are given to, where they are not those of the chats."""
        return tuple(filter(None, (self.env.get(name) for name in ("TASK_MODEL", "TASK_MODEL_EXTERNAL"))))

    @property
    def urls(self) -> tuple[str, ...]:
        """The servers that it asks, as its environment names them."""
        lists = (self.env.get(name, "").split(";") for name in _URL_LISTS)
        return tuple(dict.fromkeys(url.strip() for urls in lists for url in urls if url.strip()))


def _is_on(value: str | None) -> bool:
    """As it reads a switch: true by default, and `true` in any case; everything else is false."""
    return value is None or value.lower() == "true"


def web_ui_of(container: str, image: str, env: Mapping[str, str]) -> WebUi | None:
    """The Open WebUI in a container, by its image's name or by variables that only it has; None for anything else."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    if name != _IMAGE and not _OWN_VARIABLES & env.keys():
        return None
    return WebUi(container, env)
