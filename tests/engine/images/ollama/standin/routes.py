"""Who answers what, and what an error looks like."""

from collections.abc import Callable

from standin import api_create, api_openai, api_store, api_text, pull
from standin.app import App, go_error
from standin.scheduler import ApiError
from standin.server import ClientGone, Exchange

Answer = Callable[[App, Exchange], None]

ROUTES: dict[tuple[str, str], Answer] = {
    ("GET", "/api/version"): api_store.version,
    ("HEAD", "/api/version"): api_store.version,
    ("GET", "/api/tags"): api_store.tags,
    ("HEAD", "/api/tags"): api_store.tags,
    ("GET", "/api/ps"): api_store.ps,
    ("POST", "/api/show"): api_store.show,
    ("POST", "/api/copy"): api_store.copy,
    ("DELETE", "/api/delete"): api_store.delete,
    ("POST", "/api/pull"): pull.pull,
    ("POST", "/api/create"): api_create.create,
    ("POST", "/api/generate"): api_text.generate,
    ("POST", "/api/chat"): api_text.chat,
    ("POST", "/api/embed"): api_text.embed,
    ("POST", "/api/embeddings"): api_text.embeddings,
    ("POST", "/v1/chat/completions"): api_openai.completions,
    ("POST", "/v1/embeddings"): api_openai.embeddings,
    ("GET", "/v1/models"): api_openai.models,
}
#: One more part in the path.
BELOW: dict[tuple[str, str], Answer] = {
    ("HEAD", "/api/blobs"): api_store.blob_head,
    ("POST", "/api/blobs"): api_store.blob_put,
    ("GET", "/v1/models"): api_openai.one_model,
}


def answer(app: App, exchange: Exchange) -> None:
    """Answer one request, whatever happens."""
    try:
        if exchange.path == "/" and exchange.method in ("GET", "HEAD"):
            exchange.whole(200, b"Ollama is running", "text/plain; charset=utf-8")
            return
        above = exchange.path.rpartition("/")[0]
        found = ROUTES.get((exchange.method, exchange.path)) or BELOW.get((exchange.method, above))
        if found is None:
            exchange.whole(404, b"404 page not found", "text/plain")
        else:
            found(app, exchange)
    except ApiError as error:
        _fail(exchange, error.status, error.text)
    except ClientGone:
        raise
    except OSError as error:
        _fail(exchange, 500, go_error(error))


def _fail(exchange: Exchange, status: int, text: str) -> None:
    if exchange.began:
        exchange.row({"error": text})
    elif exchange.path.startswith("/v1/"):
        api_openai.error(exchange, status, text)
    else:
        exchange.json(status, {"error": text})
