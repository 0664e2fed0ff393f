"""Throwaway containers that a run which was killed left behind: nobody else would ever remove them."""

from __future__ import annotations

import contextlib

from homellm.deploy.session import Ports
from homellm.domain.engine_time import engine_time
from homellm.domain.names import LABEL_ROLE, ROLE_PROBE
from homellm.errors import HomellmError

#: A question to an image takes a second; what is older than this and does not run is nobody's question any more.
LEFT_AFTER_S = 60.0


def sweep_probes(ports: Ports) -> None:
    """Remove probes that ended, or never started, and that no homellm can still be asking."""
    for probe in ports.engine.list_containers({LABEL_ROLE: ROLE_PROBE}):
        age_s = (ports.clock.now() - engine_time(probe.created_at)).total_seconds()
        if not probe.running and age_s > LEFT_AFTER_S:
            with contextlib.suppress(HomellmError):
                ports.engine.remove(probe.id)
