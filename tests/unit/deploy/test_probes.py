"""Throwaway containers that a killed run left behind."""

from homellm.deploy.probes import sweep_probes
from tests.unit.deploy.lab import IMAGE, NAME, Lab


def test_an_old_one_is_swept_away_and_a_young_one_is_not():
    lab = Lab()
    ports = lab.ports()
    for name in ("homellm-probe-old", "homellm-probe-young"):
        if name.endswith("young"):
            lab.state.clock.advance(3600)
        lab.engine.create(name, {"Image": IMAGE, "Labels": {"homellm.role": "probe"}})
    sweep_probes(ports)
    assert lab.state.names() == {"homellm-probe-young": "created"}


def test_up_sweeps():
    lab = Lab()
    lab.engine.create("homellm-probe-old", {"Image": IMAGE, "Labels": {"homellm.role": "probe"}})
    lab.state.clock.advance(3600)
    lab.up()
    assert lab.state.names() == {NAME: "running"}
