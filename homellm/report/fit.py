"""The answers of `fit` for people and for programs. Pure: a report in, text or a document out."""

from __future__ import annotations

from homellm.report import words
from homellm.report.json_report import Document, error_document
from homellm.report.layout import clean, columns, flat, hang
from homellm.report.tables import join_blocks
from homellm.sizing.answer import FitReport, ModelFit
from homellm.sizing.fit import MOST_SLOTS, Place
from homellm.sizing.needs import Share

#: Columns of a device's bar.
BAR = 24
_FULL, _OVER, _EMPTY = "█", "!", "░"


def fit_document(report: FitReport) -> Document:
    """The document: each model with its figures, the devices with all of them, and for one model its figures on top."""
    models = [_model_document(model) for model in report.models]
    single = {key: value for key, value in models[0].items() if key != "name"} if len(models) == 1 else {}
    return {
        **error_document(report.stack, report.problems),
        **single,
        "models": models,
        "devices": [_device(place) for place in report.places or (report.models[0].places if single else ())],
        "slots_each": report.slots_each,
        "ctx_each": report.ctx_each,
        "notes": list(report.notes),
    }


def _model_document(model: ModelFit) -> Document:
    need = model.needs
    return {
        "name": model.name,
        "ctx": model.demand.ctx,
        "parallel": model.demand.parallel,
        "weights_bytes": model.weights_bytes,
        "kv_bytes_per_slot": need.kv_bytes_per_slot,
        "recurrent_bytes_per_slot": need.recurrent_bytes_per_slot,
        "compute_bytes": need.compute_bytes,
        "output_bytes": need.host.output,
        "projector_bytes": need.host.projector + need.gpu.projector,
        "total_bytes": need.total,
        "exact": model.exact,
        "fits": model.fits if model.places else None,
        "fits_alone": model.fits_alone if model.places else None,
        "slots_alone": model.slots_alone,
        "ctx_alone": model.ctx_alone,
        "slots_fit": model.slots_fit,
        "ctx_fit": model.ctx_fit,
        "gpu_layers_fit": model.gpu_layers_fit,
        "slots": [
            {"parallel": row.parallel, "total_bytes": row.total_bytes, "fits": row.fits if model.places else None}
            for row in model.rows
        ],
        "devices": [_device(place) for place in model.places],
    }


def _device(place: Place) -> Document:
    return {
        "name": place.name,
        "total_bytes": place.total_bytes,
        "free_bytes": place.free_bytes,
        "used_bytes": place.used_bytes,
        "fit_target_bytes": place.target_bytes,
        "missing_bytes": place.missing_bytes,
    }


def fit_table(report: FitReport, *, width: int | None = None) -> str:
    """For each model what it takes and what would fit; a bar for each device with all of them together."""
    blocks = [_model(model, width) for model in report.models]
    if report.places:
        blocks.append(flat(columns([_bar(place) for place in report.places], width=width)))
    beside = ", the others as declared" if len(report.models) > 1 else ""
    blocks += [hang(_head(model), _verdict(model, beside), width=width) for model in report.models]
    if report.slots_each is not None:
        blocks.append(flat(hang("", [line], width=width, indent=0) for line in _together(report)))
    if report.notes:
        blocks.append(flat(hang("", [words.sentence(note)], width=width, indent=0) for note in report.notes))
    return join_blocks(blocks)


def _model(model: ModelFit, width: int | None) -> list[str]:
    head = f"{words.plural(model.demand.parallel, 'slot')} × {model.demand.ctx} tokens"
    rows = [[clean(model.name), *(_device_names(model)), head], *_parts(model)]
    lines = flat(columns(rows, right=frozenset(range(1, len(rows[0]) - 1)), width=width))
    if model.rows:
        lines += ["", *_slots(model, width)]
    return lines


def _device_names(model: ModelFit) -> tuple[str, ...]:
    return ("GPU", "host") if model.demand.gpu_layers is not None else ("",)


def _parts(model: ModelFit) -> list[list[str]]:
    need = model.needs
    rows = (
        ("weights", "weights", ""),
        ("KV cache", "kv", f"{words.size(need.kv_bytes_per_slot)} a slot"),
        ("state", "recurrent", f"{words.size(need.recurrent_bytes_per_slot)} a slot"),
        ("compute", "compute", "an estimate"),
        ("output", "output", ""),
        ("projector", "projector", ""),
        ("together", "total", ""),
    )
    return [
        [f"  {name}", *_amounts(model, field), note]
        for name, field, note in rows
        if getattr(need.host, field) or getattr(need.gpu, field)
    ]


def _amounts(model: ModelFit, field: str) -> list[str]:
    def amount(share: Share) -> str:
        value = getattr(share, field)
        return words.size(value) if value else words.NONE

    shares = (model.needs.gpu, model.needs.host) if model.demand.gpu_layers is not None else (model.needs.host,)
    return [amount(share) for share in shares]


def _slots(model: ModelFit, width: int | None) -> list[str]:
    rows = [["  slots", "together", ""]]
    for row in model.rows:
        said = ("fits" if row.fits else "does not fit") if model.places else ""
        rows.append([f"  {row.parallel}", words.size(row.total_bytes), said])
    return flat(columns(rows, right=frozenset({1}), width=width))


def _bar(place: Place) -> list[str]:
    usable = place.free_bytes - place.target_bytes
    kept = f", {words.size(place.target_bytes)} of it kept free" if place.target_bytes else ""
    total = f" ({words.size(place.total_bytes)} in all)" if place.total_bytes else ""
    return [
        clean(place.name),
        f"[{_cells(place.used_bytes, usable)}]",
        f"{words.size(place.used_bytes)} of {words.size(place.free_bytes)} free{kept}{total}",
    ]


def _cells(used: int, usable: int) -> str:
    """The bar: what is used of what may be used. A part that does not fit is marked beyond its end."""
    if used > max(usable, 0):
        return _FULL * (BAR - 1) + _OVER
    filled = -(-used * BAR // usable) if usable else 0
    return _FULL * filled + _EMPTY * (BAR - filled)


def _head(model: ModelFit) -> str:
    mark = words.UNKNOWN if not model.places else words.PASS if model.fits else words.FAIL
    return f"{mark} {clean(model.name)}"


def _verdict(model: ModelFit, beside: str) -> list[str]:
    if not model.places:
        return ["No device is known to hold it against: give --memory and --free."]
    first = "Fits." if model.fits else f"Does not fit: {_missing(model)}."
    lines = [first, *_answers(model, beside)]
    if model.demand.ctx > model.trained_ctx > 0:
        lines.append(
            f"It was trained on {model.trained_ctx} tokens, and the server cuts a slot to that: set ctx:"
            f" {model.trained_ctx} or less, unless it is stretched by RoPE settings."
        )
    if not model.exact:
        lines.append("This architecture keeps more than is reckoned here: the true need is larger.")
    return lines


def _missing(model: ModelFit) -> str:
    short = [f"{place.name} lacks {words.size(place.missing_bytes)}" for place in model.places if place.missing_bytes]
    return " and ".join(short) or "it would alone, but not beside the other models"


def _answers(model: ModelFit, beside: str) -> list[str]:
    demand = model.demand
    answers = []
    if model.slots_fit:
        most = ", the most that parallel takes" if model.slots_fit == MOST_SLOTS else ""
        answers.append(f"{words.plural(model.slots_fit, 'slot')} of {demand.ctx} tokens would fit{most}{beside}.")
    if model.ctx_fit:
        trained = ", all that it was trained on" if model.ctx_fit >= model.trained_ctx - 255 > 0 else ""
        slots = words.plural(demand.parallel, "slot")
        answers.append(f"With {slots}, contexts of up to {model.ctx_fit} tokens{trained}{beside}.")
    if not model.fits and model.gpu_layers_fit is not None and model.gpu_layers_fit < model.layers:
        answers.append(
            f"As asked it fits with gpu_layers: {model.gpu_layers_fit} of {model.layers}, the rest on the CPU, slower."
        )
    if not answers and model.slots_alone:
        alone = f"{words.plural(model.slots_alone, 'slot')} of {demand.ctx} tokens"
        return [f"The others as declared leave nothing for it; without them {alone} would fit."]
    if not answers and model.ctx_alone:
        return [
            f"The others as declared leave nothing for it; without them contexts of up to {model.ctx_alone} tokens."
        ]
    return answers or ["Nothing of it fits here: a smaller model or a smaller quantization would."]


def _together(report: FitReport) -> list[str]:
    """What would fit of several models that do not fit together; with one or with all fitting there is no such word."""
    if report.slots_each is None:
        return []
    names = [clean(model.name) for model in report.models]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    for key, most in (("parallel", report.slots_each), ("ctx", report.ctx_each)):
        less = [clean(model.name) for model in report.models if most and getattr(model.demand, key) > most]
        if less:
            return [f"{listed} fit together with {key}: {most} for {' and '.join(less)}."]
    return [f"{listed} do not fit together: leave one of them out, or take a smaller model or quantization."]
