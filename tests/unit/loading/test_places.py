"""Where each key of a model stands."""

from tests.unit.loading.given import loaded, marked

TEXT = """\
stack: s
x-base: &base
  ‸batch: 512
defaults:
  ‸ctx: 2048
  parallel: 2
  env: {A: 1, ‸B: 1}
models:
  ‸smol:
    <<: *base
    ‸source: gguf:smol.gguf
    ‸parallel: 3
    ‸env:
      ‸A: 2
    ‸extra_args:
      - ‸--seed
      - ‸"7"
    ‸kv_cache_type: {‸k: f16}
"""

KEYS = "batch ctx env.B - source parallel env env.A extra_args extra_args.0 extra_args.1 kv_cache_type kv_cache_type.k"


def test_every_key_has_its_place_be_it_own_merged_or_by_default() -> None:
    text, places = marked(TEXT)
    model = loaded(text).models[0]
    expected = dict(zip(["" if key == "-" else key for key in KEYS.split()], places, strict=True))
    assert {key: (place.line, place.column) for key, place in model.places.items()} == expected
    lines = text.splitlines()
    assert all(place.excerpt == lines[place.line - 1] for place in model.places.values())
    assert {place.file for place in model.places.values()} == {"/srv/llm/homellm.yaml"}


def test_a_place_shows_itself() -> None:
    place = loaded("stack: s\nmodels: {a: {source: gguf:a, port: 80}}\n").models[0].places["port"]
    assert place.pointed == "2 | models: {a: {source: gguf:a, port: 80}}\n  |                              ^"


def test_places_do_not_make_models_differ() -> None:
    one = loaded("stack: s\nmodels: {a: {source: gguf:a}}\n").models[0]
    other = loaded("\n\nstack: s\nmodels: {a: {source: gguf:a}}\n").models[0]
    assert one == other
    assert one.places != other.places
