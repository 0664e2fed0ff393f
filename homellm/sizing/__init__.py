"""What a model needs of memory, reckoned from its header before anything is downloaded or started. Pure."""

from homellm.sizing.caches import UnknownType
from homellm.sizing.demand import Demand
from homellm.sizing.estimate import Estimate, demand_of, estimate_model
from homellm.sizing.fit import FIT_TARGET_BYTES, Device, Machine, Place, ctx_fits, fits, layers_fit, places, slots_fit
from homellm.sizing.needs import Needs, Share, needs

__all__ = [
    "FIT_TARGET_BYTES",
    "Demand",
    "Device",
    "Estimate",
    "Machine",
    "Needs",
    "Place",
    "Share",
    "UnknownType",
    "ctx_fits",
    "demand_of",
    "estimate_model",
    "fits",
    "layers_fit",
    "needs",
    "places",
    "slots_fit",
]
