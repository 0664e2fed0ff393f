"""`python -m scripts.provision.answer STACK_FILE`: asks the first model of a running stack one question.

Says what was verified by `homellm check` and what the model answered. Fails unless the slots passed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

from scripts.provision.errors import ProvisionError, run_main

QUESTION = "What is the capital of France? Answer in one short sentence."
ANSWER_PATIENCE_S = 120


def checked_model(stack_file: str) -> dict[str, Any]:
    """The first model of the stack as `homellm check` reports it. Raises ProvisionError unless its slots passed."""
    command = [sys.executable, "-m", "homellm", "check", "--file", stack_file, "--format", "json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    models = json.loads(done.stdout)["models"] if done.stdout.strip() else []
    passed = {check["id"]: check for model in models[:1] for check in model["checks"] if check["verdict"] == "pass"}
    if "slots" not in passed:
        raise ProvisionError(
            f"the slots of the model are not verified (exit {done.returncode}) {done.stderr.strip()[-300:]}",
            f".venv/bin/homellm check -f {stack_file}",
        )
    return {**models[0], "slots": passed["slots"]["observed"]}


def ask(endpoint: str, model: str) -> str:
    """The model's answer to QUESTION. Raises ProvisionError when none comes."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": 48,
        "temperature": 0,
    }
    request = urllib.request.Request(  # noqa: S310 - the endpoint is http:// and our own
        f"{endpoint}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    # A proxy of the environment must not stand between this machine and itself.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=ANSWER_PATIENCE_S) as reply:
            answer = json.load(reply)
    except (urllib.error.URLError, TimeoutError) as error:
        raise ProvisionError(f"no answer from {endpoint}: {error}", ".venv/bin/homellm logs -f") from error
    return str(answer["choices"][0]["message"]["content"]).strip()


def main() -> None:
    """Print what was verified, the question and the answer."""
    model = checked_model(sys.argv[1])
    print(f"{model['slots']} slots verified at {model['endpoint']}")
    print(f"asked:    {QUESTION}")
    print(f"answered: {ask(model['endpoint'], model['name'])}")


if __name__ == "__main__":
    run_main(main)
