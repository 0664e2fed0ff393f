"""What is asked of a server, as far as it decides about memory."""

from __future__ import annotations

from dataclasses import dataclass

#: llama.cpp rounds contexts up to this many tokens (GGML_PAD in llama-context.cpp and llama-kv-cache-iswa.cpp).
CELL_PADDING = 256
#: llama-server's defaults (help of build 11669).
BATCH = 2048
UBATCH = 512


@dataclass(frozen=True, slots=True)
class Demand:
    """Context of one slot in tokens, slots, and what else a server is told.

    `gpu_layers` counts as -ngl does: the last one is the output, so a model of 28 blocks has 29; None: there is no
    GPU; a number beyond the model's means all. `flash_attention` False costs far more memory. `full_logits` is for
    builds that keep logits of a whole batch (Ollama's runner to 0.24; llama-server before it had n_outputs_max).
    `projector_bytes` are the weights of an mmproj, which go to the GPU where there is one.
    """

    ctx: int = 4096
    parallel: int = 1
    batch: int = BATCH
    ubatch: int = UBATCH
    key_type: str = "f16"
    value_type: str = "f16"
    flash_attention: bool = True
    kv_unified: bool = False
    swa_full: bool = False
    gpu_layers: int | None = None
    mlock: bool = False
    full_logits: bool = False
    projector_bytes: int = 0

    @property
    def slot_cells(self) -> int:
        """Tokens of one slot as the server rounds them: pad256(pad256(ctx × slots) / slots)."""
        return padded(padded(self.ctx * self.parallel) // self.parallel)

    @property
    def cells(self) -> int:
        """Cells of one stream of the cache: one slot's, or the whole pool's when slots share one."""
        return padded(self.ctx * self.parallel) if self.kv_unified else self.slot_cells

    @property
    def streams(self) -> int:
        """How many caches of that size there are."""
        return 1 if self.kv_unified else self.parallel

    @property
    def tokens_at_once(self) -> int:
        """Tokens of one computation: the physical batch, a multiple of the slots (`graph_reserve`)."""
        tokens = min(self.ubatch, self.batch, self.cells * self.streams)
        return padded(tokens, self.parallel)


def padded(tokens: int, to: int = CELL_PADDING) -> int:
    """`tokens` rounded up to a multiple."""
    return (tokens + to - 1) // to * to
