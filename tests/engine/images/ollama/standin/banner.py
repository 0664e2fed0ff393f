"""What Ollama prints before it listens: its configuration as Go prints a map, and gin's list of routes."""

from dataclasses import dataclass

from standin.settings import Settings
from standin.words import FOREVER_S, duration

_HEAD = """\
[GIN-debug] [WARNING] Creating an Engine instance with the Logger and Recovery middleware already attached.

[GIN-debug] [WARNING] Running in "debug" mode. Switch to "release" mode in production.
 - using env:\texport GIN_MODE=release
 - using code:\tgin.SetMode(gin.ReleaseMode)
"""
_SERVER = "github.com/ollama/ollama/server.(*Server)."
#: Method, path, handler, handlers in the chain.
_ROUTES = """\
HEAD / GenerateRoutes.func1 5
GET / GenerateRoutes.func2 5
HEAD /api/version GenerateRoutes.func3 5
GET /api/version GenerateRoutes.func4 5
GET /api/status StatusHandler-fm 5
POST /api/pull PullHandler-fm 5
POST /api/push PushHandler-fm 5
HEAD /api/tags ListHandler-fm 5
GET /api/tags ListHandler-fm 5
POST /api/show ShowHandler-fm 5
DELETE /api/delete DeleteHandler-fm 5
POST /api/me WhoamiHandler-fm 5
POST /api/signout SignoutHandler-fm 5
DELETE /api/user/keys/:encodedKey SignoutHandler-fm 5
POST /api/create CreateHandler-fm 5
POST /api/blobs/:digest CreateBlobHandler-fm 5
HEAD /api/blobs/:digest HeadBlobHandler-fm 5
POST /api/copy CopyHandler-fm 5
POST /api/experimental/web_search WebSearchExperimentalHandler-fm 5
POST /api/experimental/web_fetch WebFetchExperimentalHandler-fm 5
GET /api/experimental/model-recommendations ModelRecommendationsExperimentalHandler-fm 5
GET /api/ps PsHandler-fm 5
POST /api/generate GenerateHandler-fm 5
POST /api/chat ChatHandler-fm 5
POST /api/embed EmbedHandler-fm 5
POST /api/embeddings EmbeddingsHandler-fm 5
POST /v1/chat/completions ChatHandler-fm 7
POST /v1/completions GenerateHandler-fm 7
POST /v1/embeddings EmbedHandler-fm 7
GET /v1/models ListHandler-fm 6
GET /v1/models/:model ShowHandler-fm 7
POST /v1/responses ChatHandler-fm 7
POST /v1/audio/transcriptions ChatHandler-fm 6
POST /v1/messages ChatHandler-fm 7
"""
_OLD_ROUTES = """\
POST /v1/images/generations GenerateHandler-fm 7
POST /v1/images/edits GenerateHandler-fm 7
"""
#: Variables that are shown as they are, empty ones too.
_AS_THEY_ARE = """
CUDA_VISIBLE_DEVICES GGML_VK_VISIBLE_DEVICES GPU_DEVICE_ORDINAL HIP_VISIBLE_DEVICES HSA_OVERRIDE_GFX_VERSION
HTTPS_PROXY HTTP_PROXY NO_PROXY OLLAMA_EDITOR OLLAMA_KV_CACHE_TYPE OLLAMA_LLM_LIBRARY ROCR_VISIBLE_DEVICES
http_proxy https_proxy no_proxy
"""
_FLAGS = """
OLLAMA_DEBUG_LOG_REQUESTS OLLAMA_FLASH_ATTENTION OLLAMA_NOHISTORY OLLAMA_NOPRUNE OLLAMA_NO_CLOUD OLLAMA_SCHED_SPREAD
"""
_NEW_AS_THEY_ARE = ("LLAMA_ARG_FIT", "LLAMA_ARG_FIT_TARGET", "OLLAMA_IGPU_ENABLE")
_OLD_FLAGS = ("OLLAMA_MULTIUSER_CACHE", "OLLAMA_NEW_ENGINE")
_ORIGINS = ("localhost", "127.0.0.1", "0.0.0.0")
_APPS = ("app://*", "file://*", "tauri://*", "vscode-webview://*", "vscode-file://*")


@dataclass(frozen=True, slots=True)
class Banner:
    """What differs between versions."""

    routes: tuple[str, ...]
    texts: tuple[str, ...]
    flags: tuple[str, ...]
    vulkan: bool

    def config(self, settings: Settings) -> str:
        """`map[CUDA_VISIBLE_DEVICES: … OLLAMA_NUM_PARALLEL:3 …]`, the names in order."""
        values = {name: settings.var(name) for name in (*_AS_THEY_ARE.split(), *self.texts)}
        values |= {name: _flag(settings, name, default=False) for name in (*_FLAGS.split(), *self.flags)}
        values |= {
            "OLLAMA_CONTEXT_LENGTH": str(settings.context_length),
            "OLLAMA_DEBUG": "INFO",
            "OLLAMA_GPU_OVERHEAD": settings.var("OLLAMA_GPU_OVERHEAD") or "0",
            "OLLAMA_HOST": f"http://{settings.host[0]}:{settings.host[1]}",
            "OLLAMA_KEEP_ALIVE": _go_time(settings.keep_alive_s),
            "OLLAMA_LOAD_TIMEOUT": _go_time(settings.load_timeout_s),
            "OLLAMA_MAX_LOADED_MODELS": str(settings.max_loaded),
            "OLLAMA_MAX_QUEUE": str(settings.max_queue),
            "OLLAMA_MAX_TRANSFER_STREAMS": "4",
            "OLLAMA_MODELS": str(settings.models),
            "OLLAMA_NUM_PARALLEL": str(settings.parallel),
            "OLLAMA_ORIGINS": f"[{' '.join(_origins(settings.var('OLLAMA_ORIGINS')))}]",
            "OLLAMA_REMOTES": "[ollama.com]",
            "OLLAMA_VULKAN": _flag(settings, "OLLAMA_VULKAN", default=self.vulkan),
        }
        if self.vulkan:
            values["OLLAMA_GO_TEMPLATE"] = _flag(settings, "OLLAMA_GO_TEMPLATE", default=True)
        return f"map[{' '.join(f'{name}:{value}' for name, value in sorted(values.items()))}]"


def cloud_disabled(settings: Settings) -> str:
    return _flag(settings, "OLLAMA_NO_CLOUD", default=False)


def _flag(settings: Settings, name: str, *, default: bool) -> str:
    value = settings.var(name)
    return str(value.lower() not in ("0", "f", "false") if value else default).lower()


def _go_time(seconds: float) -> str:
    return "2562047h47m16.854775807s" if seconds >= FOREVER_S else duration(seconds)


def _origins(asked: str) -> list[str]:
    own = asked.split(",") if asked else []
    local = [f"{scheme}://{host}{port}" for host in _ORIGINS for port in ("", ":*") for scheme in ("http", "https")]
    return [*own, *local, *_APPS]


def _lines(routes: str) -> tuple[str, ...]:
    lines = [_HEAD]
    for row in routes.splitlines():
        method, path, handler, count = row.split()
        lines.append(f"[GIN-debug] {method:<6} {path:<25} --> {_SERVER}{handler} ({count} handlers)")
    return tuple(lines)


NEW = Banner(_lines(_ROUTES), _NEW_AS_THEY_ARE, (), vulkan=True)
OLD = Banner(_lines(_ROUTES.replace("POST /v1/audio", _OLD_ROUTES + "POST /v1/audio")), (), _OLD_FLAGS, vulkan=False)
