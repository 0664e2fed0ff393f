"""Throwaway containers that a killed run left behind."""

from homellm.deploy.probes import sweep_probes
from tests.unit.deploy.lab import IMAGE, Lab


def test_an_old_one_is_swept_away_and_a_young_one_is_not():
    lab = Lab()
    ports = lab.ports()
    for name in ("homellm-probe-old", "homellm-probe-young"):
        if name.endswith("young"):
            lab.state.clock.advance(3600)
        lab.engine.create(name, {"Image": IMAGE, "Labels": {"homellm.role": "probe"}})
    sweep_probes(ports)
    assert lab.state.names() == {"homellm-probe-young": "created"}
