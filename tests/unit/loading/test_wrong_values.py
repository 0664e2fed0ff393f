"""One wrong value each: told once, where it stands, in words that say what to write."""

import pytest

from tests.unit.loading.given import complaint, marked, problems_of, stack_with

# A line of a model (or several), the problem's id, what its message says, what its hint says.
VALUES = [
    # whole numbers
    ("parallel: ‸three", "wrong-value", "`parallel` in model `smol` is `three`, which is no whole number", ""),
    ("parallel: ‸3.5", "wrong-value", "is `3.5`, which is no whole number", "digits alone"),
    ("parallel: ‸3.0", "wrong-value", "is `3.0`", "digits alone"),
    ("ctx: ‸1e4", "wrong-value", "is `1e4`", "digits alone"),
    ("ctx: ‸4k", "wrong-value", "is `4k`", ""),
    ("ctx: ‸0x1000", "wrong-value", "is `0x1000`, which is not written in decimal", "Write 4096."),
    ("ctx: ‸0o10", "wrong-value", "not written in decimal", "Write 8."),
    ("ctx: ‸4k", "wrong-value", "is `4k`, which is no whole number", "Write 4096."),
    ("ctx: ‸0xzz", "wrong-value", "no whole number", ""),
    ("ctx: ‸0b12", "wrong-value", "not written in decimal", ""),
    ("ctx: ‸010", "wrong-value", "base 8 and YAML 1.2 in base 10", "Write 10."),
    ("ctx: ‸32_768", "wrong-value", "digits may not be grouped", "Write 32768."),
    ("ctx: ‸32,768", "wrong-value", "digits may not be grouped", "Write 32768."),
    ("cache_reuse: ‸1_000", "wrong-value", "digits may not be grouped", "Write 1000."),
    ("ctx: ‸'0'", "out-of-range", "`ctx` in model `smol` is 0; it must be at least 1", "one slot"),
    ("ctx: ‸3000000000", "out-of-range", "at most 2147483647", ""),
    ("ctx: ‸99999999999999999999999", "wrong-value", "no whole number", ""),
    ("parallel: ‸-1", "out-of-range", "is -1; it must be at least 1", ""),
    ("parallel: ‸257", "out-of-range", "is 257; it must be at most 256", ""),
    ("parallel: ‸٣", "wrong-value", "no whole number", ""),
    ("cache_reuse: ‸-1", "out-of-range", "at least 0", ""),
    ("cpu_shares: ‸1", "out-of-range", "at least 2", ""),
    ("cpu_shares: ‸300000", "out-of-range", "at most 262144", ""),
    ("parallel: ‸[3]", "wrong-type", "is a list, where a single value is due", ""),
    ("parallel: ‸{a: 3}", "wrong-type", "is a mapping, where a single value is due", ""),
    ("parallel: ‸true", "wrong-value", "is `true`, which is no whole number", ""),
    # ports: the trap of base 60 above all
    ("port: ‸9022:22", "wrong-value", "is `9022:22`, a mapping of two ports", "Write `port: 9022` (and quote"),
    ("port: ‸'9022:22'", "wrong-value", "a mapping of two ports", "Write `port: 9022`"),
    ("port: ‸127.0.0.1:9022:8080", "wrong-value", "a mapping of two ports", "Write `port: 9022`"),
    ("port: ‸11435:8080/tcp", "wrong-value", "a mapping of two ports", "Write `port: 11435`"),
    ("port: ‸65536", "out-of-range", "at most 65535", ""),
    ("port: ‸0", "out-of-range", "at least 1", ""),
    ("port: ‸http", "wrong-value", "no whole number", ""),
    ("port: ‸[8080]", "wrong-type", "is a list", ""),
    # booleans and words
    ("mlock: ‸yess", "wrong-value", "must be true or false; did you mean `yes`?", ""),
    ("mlock: ‸1", "wrong-value", "is `1`; it must be true or false", ""),
    ("jinja: ‸[]", "wrong-type", "is a list", ""),
    ("flash_attention: ‸true", "wrong-value", "must be on, off or auto; did you mean `on`?", ""),
    ("flash_attention: ‸atuo", "wrong-value", "did you mean `auto`?", ""),
    ("restart: ‸unless_stopped", "wrong-value", "did you mean `unless-stopped`?", ""),
    ("restart: ‸false", "wrong-value", "did you mean `no`?", ""),
    ("restart: ‸on-failure:3", "wrong-value", "did you mean `on-failure`?", ""),
    ("pull: ‸if_not_present", "wrong-value", "did you mean `missing`?", ""),
    (
        "runner: ‸llamaserver",
        "wrong-value",
        "`llamaserver`; it must be llama-server or ollama; did you mean `llama-server`?",
        "",
    ),
    ("gpu_layers: ‸most", "wrong-value", "must be all, auto, or a number of layers", ""),
    ("gpu_layers: ‸-1", "out-of-range", "at least 0", ""),
    ("gpu_layers: ‸99999", "out-of-range", "at most 10000", ""),
    ("kv_cache_type: ‸q8", "wrong-value", "did you mean `q8_0`?", ""),
    ("kv_cache_type: ‸{k: q8_0, w: q8_0}", "unknown-key", "unknown key `w`; it must be k or v", ""),
    ("kv_cache_type: ‸{k: fp8}", "wrong-value", "is `fp8`", ""),
    ("kv_cache_type: ‸{}", "wrong-value", "names no type", "{k: q8_0, v: q8_0}"),
    # sizes and durations
    ("memory: ‸6", "out-of-range", "is `6`, 6 bytes; it must be at least 6291456 bytes", "write 6g"),
    ("memory: ‸six", "wrong-value", "is `six`, which is not a size such as 6GiB", ""),
    ("memory: ‸5MiB", "out-of-range", "5242880 bytes", ""),
    ("memory: ‸-1", "wrong-value", "not a size", ""),
    ("memory: ‸99999999p", "out-of-range", "more than any machine has", ""),
    ("shm_size: ‸0", "out-of-range", "at least 1 bytes", ""),
    ("sleep_idle: ‸900", "wrong-value", "is `900`, without a unit", "900s for seconds, 900m for minutes"),
    ("sleep_idle: ‸0s", "out-of-range", "at least 1s", ""),
    ("sleep_idle: ‸nver", "wrong-value", "not a duration such as 90s", ""),
    ("sleep_idle: ‸''", "wrong-value", "is empty", ""),
    ("stop_grace: ‸10", "wrong-value", "without a unit", "10s"),
    ("stop_grace_s: ‸10s", "wrong-value", "no whole number", ""),
    # CPUs
    ("cpuset: ‸3-0", "wrong-value", "3-0 runs backwards", ""),
    ("cpuset: ‸0..3", "wrong-value", "is `0..3`, which is not a list of CPUs such as 0-3", ""),
    ("cpuset: ‸0-99999", "wrong-value", "no machine has a CPU 99999", ""),
    ("cpuset: ‸'0,'", "wrong-value", "not a list of CPUs", ""),
    ("cpuset: ‸[0, 1]", "wrong-type", "is a list", ""),
    # addresses, names, images
    ("bind: ‸localhost", "wrong-value", "is `localhost`, which is no IP address", "127.0.0.1"),
    ("bind: ‸127.0.0.256", "wrong-value", "no IP address", ""),
    ('bind: ‸"[]"', "wrong-value", "no IP address", ""),
    ("bind: ‸fe80::1%eth0", "wrong-value", "no IP address", ""),
    ("container_name: ‸my box", "wrong-value", "it must be letters, digits", ""),
    ("container_name: ‸-x", "wrong-value", "begin with a letter or digit", ""),
    ("image: ‸ghcr.io/GGML-org/llama.cpp:server", "wrong-value", "no name of an image", "lower case"),
    ("image: ‸llama cpp", "wrong-value", "no name of an image", ""),
    ("image: ‸llama@sha256:abc", "wrong-value", "no name of an image", ""),
    # sources and paths
    ("source: ‸/models/a.gguf", "wrong-value", "does not begin with `gguf:`", "Write `source: gguf:/models/a.gguf`."),
    ("source: ‸a.gguf", "wrong-value", "does not begin with `gguf:`", "gguf:a.gguf"),
    ("source: ‸gguff:/a.gguf", "wrong-value", "does not begin with `gguf:`", "Did you mean `gguf:`?"),
    ("source: ‸smollm", "wrong-value", "does not begin with `gguf:`", "gguf:/path/to/model.gguf"),
    ("source: ‸unsloth/Qwen3-4B", "wrong-value", "does not begin with `gguf:`", "Write `source: hf:unsloth/Qwen3-4B`"),
    ("source: ‸org/repo:Q8_0", "wrong-value", "does not begin with `gguf:`", "Write `source: hf:org/repo:Q8_0`"),
    ("source: ‸models/a.gguf", "wrong-value", "does not begin with `gguf:`", "Write `source: gguf:models/a.gguf`."),
    ("source: ‸'gguf:'", "wrong-value", "names no file", "gguf:/path"),
    ("source: ‸gguf:~bob/a.gguf", "wrong-value", "`~` can only stand for your own home", "whole path"),
    ('source: ‸"gguf:a\\0"', "wrong-value", "NUL", ""),
    ('env: {A: ‸"b\\0c"}', "wrong-value", "`env.A` in model `smol` has a NUL character in it", "Remove it."),
    ('extra_args: [--x, ‸"\\0"]', "wrong-value", "item 2 of `extra_args` in model `smol` has a NUL character", ""),
    ('env: {A: ‸"b\\ud800"}', "wrong-value", "has U+D800 in it, which is no character", "UTF-8"),
    ('labels: {‸"a\\0b": c}', "wrong-value", "in model `smol` has a NUL character in it", "Remove it."),
    ("mmproj: ‸''", "wrong-value", "is empty", ""),
    ("chat_template_file: ‸[a]", "wrong-type", "is a list", ""),
    # collections
    ("volumes: ‸./a:/b", "wrong-type", "`volumes` in model `smol` must be a list", "one item a line"),
    ("volumes: [‸./a]", "wrong-value", "item 1 of `volumes` in model `smol` is `./a`", "./folder:/inside:ro"),
    ("volumes: [/a:/b, ‸/a:b]", "wrong-value", "item 2 of `volumes`", "./folder:/inside:ro"),
    ("volumes: [‸/a:/b:z]", "wrong-value", "the mode must be ro or rw", ""),
    ("volumes: [‸models/x:/b]", "wrong-value", "neither a path nor a volume's name", "`./models/x:/b`"),
    ("volumes: [‸{type: bind}]", "wrong-type", "is a mapping", ""),
    ("networks: ‸proxy", "wrong-type", "must be a list of networks", "[proxy]"),
    ("networks: ‸[my net]", "wrong-value", "is `my net`", ""),
    ("networks: ‸{proxy: {external: false}}", "wrong-value", "may only name networks that exist", "external: true"),
    ("networks: ‸{proxy: {driver: bridge}}", "wrong-value", "may only name networks that exist", ""),
    ("extra_args: ‸--top-k 40", "wrong-type", "must be a list", "after a `- `"),
    ("extra_args: [--top-k, ‸[40]]", "wrong-type", "item 2 of `extra_args` in model `smol` is a list", ""),
    ("env: ‸3", "wrong-type", "`env` in model `smol` must be a mapping of keys", "key: value"),
    ("env: {A: ‸[1]}", "wrong-type", "`env.A` in model `smol` is a list", ""),
    ("env: [‸HF_TOKEN]", "wrong-value", "no `NAME=value`", "write `HF_TOKEN=${HF_TOKEN}`"),
    ("env: [A=1, ‸A=2]", "duplicate-key", "`A` stands twice in `env` in model `smol`, first in line 5", "Keep one."),
    ("env: {‸' A': 1}", "wrong-value", "no name of a variable", ""),
    ("env: {‸A=B: 1}", "wrong-value", "no name of a variable", ""),
    ("labels: {‸homellm.role: serve}", "contradiction", "`homellm.role` is homellm's own", "Rename it."),
    ("log: ‸json-file", "wrong-type", "`log` in model `smol` must be a mapping of keys", "key: value"),
    ("log: {max_size: ‸10 MB}", "wrong-value", "`log.max_size` in model `smol` is `10 MB`", ""),
    ("log: {max_files: ‸0}", "out-of-range", "`log.max_files` in model `smol` is 0", ""),
    ("log: {driver: journald, ‸max_size: 10m}", "contradiction", "`journald` keeps no files", "json-file or local"),
    # secrets are never shown
    ("api_key: ‸''", "wrong-value", "is empty: the server would ask for no key at all", ""),
    ("api_key: ‸a,b", "wrong-value", "has a comma", ""),
    ("api_key: ‸' a'", "wrong-value", "a blank", ""),
    ("api_key: ‸open sesame", "wrong-value", "no client could send it", ""),
    ("api_key: ‸schlüssel", "wrong-value", "one outside ASCII", ""),
    ('api_key: ‸"a\\u00a0b"', "wrong-value", "one outside ASCII", ""),
    ("api_key: ‸${EMPTY}", "wrong-value", "is empty", ""),
    # nothing where something is due
    ("‸ctx:", "no-value", "`ctx` in model `smol` has no value", "Give it one"),
    ("‸env:", "no-value", "`env` in model `smol` has no value", "Give it one"),
    ("env: {‸A: }", "no-value", "`env.A` in model `smol` has no value", '`""` is an empty text'),
    ("env: {‸A: null}", "no-value", "`env.A` in model `smol` has no value", ""),
    ("extra_args: [a, ‸~]", "no-value", "item 2 of `extra_args` in model `smol` has no value", ""),
    # tags
    ("ctx: ‸!!int 3", "yaml-tag", "`ctx` in model `smol` has a YAML tag", "Remove it."),
    ("env: ‸!reset {}", "yaml-tag", "`env` in model `smol` has a YAML tag", ""),
]


@pytest.mark.parametrize(("keys", "id", "message", "hint"), VALUES, ids=[row[0] for row in VALUES])
def test_a_wrong_value_is_told_where_it_stands(keys: str, id: str, message: str, hint: str) -> None:
    problem = complaint(stack_with(keys))
    assert problem.id == id
    assert message in problem.message
    assert hint in problem.hint
    assert problem.model == "smol"


def test_the_number_of_a_port_read_in_base_60_is_never_told() -> None:
    problem = complaint(stack_with("port: ‸9022:22"))
    assert "541342" not in problem.message + problem.hint + str(problem.excerpt)


def test_no_home_no_tilde() -> None:
    problem = complaint(stack_with("source: ‸gguf:~/a.gguf"), {})
    assert problem.id == "variable-unset"
    assert "`HOME` is not set" in problem.message


def test_a_wrong_item_does_not_move_the_places_of_the_next_ones() -> None:
    text, places = marked(stack_with("extra_args: [a, ‸~, b, ‸--ctx-size]"))
    assert [(p.line, p.column) for p in problems_of(text)] == places
