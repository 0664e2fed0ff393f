"""Lines of servers, in old words and new ones, and what each means: those of the fact sheet, of the cases, of real logs."""

# ruff: noqa: E501 - lines of logs, as they stand

from __future__ import annotations

PROBLEMS: tuple[tuple[str, str], ...] = (
    ("flag-unknown", "error: invalid argument: --mlock"),
    ("flag-unknown", "error: unknown argument: --bogus"),
    ("flag-deprecated", "0.00.003.217 W DEPRECATED: --mlock is deprecated. use --load-mode mlock instead"),
    ("flag-deprecated", "DEPRECATED: --defrag-thold is deprecated and no longer necessary to specify"),
    (
        "flag-deprecated",
        "DEPRECATED: argument '--device' specified multiple times, use comma-separated values instead "
        "(only last value will be used)",
    ),
    ("model-missing", "gguf_init_from_file: failed to open GGUF file '/m/x.gguf' (No such file or directory)"),
    ("model-missing", "llama_model_load: error loading model: failed to open models/7B.gguf: No such file or directory"),
    ("model-unreadable", "gguf_init_from_file: failed to open GGUF file '/m/x.gguf' (Permission denied)"),
    (
        "model-corrupt",
        "0.00.015.999 E llama_model_load: error loading model: tensor 'blk.11.ffn_up.weight' data is not within the "
        "file bounds, model is corrupted or incomplete",
    ),
    ("model-corrupt", "data is not within the file bounds, model is corrupted or incomplete"),
    ("model-corrupt", 'tensor "blk.1.ffn_up.weight" offset+size (123) exceeds file size (100)'),
    ("not-gguf", "gguf_init_from_reader: invalid magic characters: 'hell', expected 'GGUF'"),
    ("not-gguf", "gguf_init_from_reader: failed to read magic"),
    (
        "model-split",
        "llama_model_load: error loading model: illegal split file idx: 2 (file: /b/sha256-aa), model must be loaded with"
        " the first split",
    ),
    ("model-split", "llama_model_load: error loading model: invalid split file name: /b/sha256-aa"),
    ("arch-unknown", "unknown model architecture: 'nemotron_h_omni'"),
    ("arch-unknown", "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'x'"),
    (
        "projector-mismatch",
        "mtmd_init_from_file: error: mismatch between text model (n_embd = 64) and mmproj (n_embd = 576)",
    ),
    ("projector-broken", "clip_init: failed to load model '/p/m.gguf': load_hparams: unknown projector type: x"),
    ("projector-broken", "mtmd_init_from_file: error: Failed to load CLIP model from /p/m.gguf"),
    ("projector-broken", "srv    load_model: failed to load multimodal model, '/p/m.gguf'"),
    ("server-crashed", "./src/ggml.c:3366: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed"),
    ("blob-incompatible", "key qwen35.rope.dimension_sections has wrong array length; expected 4, got 3"),
    (
        "blob-incompatible",
        "0.00.098.998 E llama_model_load: error loading model: error loading model hyperparameters: "
        "key lfm2.attention.head_count_kv has wrong array length; expected 6, got 3",
    ),
    ("blob-incompatible", "wrong array length; expected 4, got 3"),
    ("blob-incompatible", "llama_model_load: error loading model: done_getting_tensors: wrong number of tensors; expected 2131, got 720"),
    ("blob-incompatible", "key not found in model: gptoss.attention.head_count"),
    ("blob-incompatible", "error loading model: check_tensor_dims: tensor 'token_embd_norm.weight' not found"),
    ("blob-incompatible", "error loading model: missing tensor 'blk.0.attn_q.weight'"),
    (
        "mlock-failed",
        "warning: failed to mlock 30224384-byte buffer (after previously locking 0 bytes): Cannot allocate memory",
    ),
    ("no-gpu", "warning: no usable GPU found, --gpu-layers option will be ignored"),
    ("no-gpu", 'error while handling argument "--device": invalid device: Vulkan0'),
    ("no-gpu", "invalid device: Vulkan0"),
    ("no-gpu", "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected"),
    ("no-gpu", "ggml_cuda_init: failed to initialize CUDA: initialization error"),
    (
        "no-gpu",
        "load_backend: failed to load /app/libggml-cuda.so: libcuda.so.1: cannot open shared object file: "
        "No such file or directory",
    ),
    ("no-gpu", "warning: not compiled with GPU offload support, --gpu-layers option will be ignored"),
    ("cpu-device", "ggml_vulkan: Warning: Device type is CPU. This is probably not the device you want."),
    ("out-of-memory", "ggml_vulkan: Device memory allocation of size 576061440 failed."),
    ("out-of-memory", "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory"),
    ("out-of-memory", "ggml_vulkan: Requested buffer size exceeds device buffer size limit: ErrorOutOfDeviceMemory"),
    ("out-of-memory", "ErrorOutOfDeviceMemory"),
    ("out-of-memory", "cudaMalloc failed: out of memory"),
    (
        "out-of-memory",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory",
    ),
    ("out-of-memory", "CUDA error: out of memory"),
    ("out-of-memory", "0.00.307.310 E alloc_tensor_range: failed to allocate Vulkan0 buffer of size 576061440"),
    ("out-of-memory", "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache"),
    ("out-of-memory", "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers"),
    ("out-of-memory", "llama_model_load: error loading model: unable to allocate CUDA0 buffer"),
    ("out-of-memory", "  what():  std::bad_alloc"),
    ("out-of-memory", "[12345.678901] Out of memory: Killed process 4711 (llama-server)"),
    ("port-in-use", "0.00.182.055 E srv         start: couldn't bind HTTP server socket, hostname: 0.0.0.0, port: 8080"),
    ("port-in-use", "main: couldn't bind to server socket: hostname=127.0.0.1 port=8080"),
    ("port-in-use", "Error: listen tcp 127.0.0.1:11434: bind: address already in use"),
    ("port-in-use", "listen tcp4 127.0.0.1:11434: bind: address already in use"),
    ("ctx-capped", "srv    load_model: the slot context (65536) exceeds the training context of the model (8192) - capping"),
    ("ctx-shrunk", "common_params_fit_impl: context size reduced from 8192 to 4096 -> need 90 MiB less memory in total"),
    ("ctx-shrunk", "context size reduced from 8192 to 4096"),
    (
        "fit-aborted",
        "common_fit_params: failed to fit params to free device memory: n_gpu_layers already set by user to 99, abort",
    ),
    ("kv-exhausted", "Context size has been exceeded."),
    ("kv-exhausted", "0.06.972.418 E srv    send_error: task id = 0, error: Context size has been exceeded."),
    ("kv-exhausted", "srv  update_slots: decode() failed: Context size has been exceeded."),
    (
        "kv-exhausted",
        'srv    operator(): got exception: {"error":{"code":500,"message":"Context size has been exceeded.","type":"x"}}',
    ),
    ("kv-exhausted", "srv  update_slots: failed to decode the batch: KV cache is full - try increasing it via the context size"),
    ("cache-reuse-off", "srv    load_model: cache_reuse is not supported by this context, it will be disabled"),
    ("cache-reuse-off", "cache_reuse is not supported by multimodal, it will be disabled"),
    ("cache-reuse-off", "slot update_slots: id  0 | task 0 | cache reuse is not supported - ignoring n_cache_reuse = 256"),
    (
        "prompt-cache-lost",
        "slot   operator(): id  0 | task 11 | forcing full prompt re-processing due to lack of cache data (likely due to "
        "SWA or hybrid/recurrent memory, see https://github.com/ggml-org/llama.cpp/pull/13194)",
    ),
    (
        "reasoning-preserve-off",
        "srv          init: chat template does NOT support preserving reasoning, --reasoning-preserve has no effect",
    ),
    ("flash-attn-required", "llama_init_from_model: quantized V cache requires flash_attn to be enabled"),
    ("flash-attn-required", "llama_new_context_with_model: V cache quantization requires flash_attn"),
    ("no-auth", "srv  llama_server: CORS is set to allow all origins ('*') and no API key is set"),
    (
        "no-auth",
        "srv  llama_server: security: no API key is set and CORS allows all origins "
        "(see https://github.com/ggml-org/llama.cpp/pull/25655)",
    ),
    (
        "driver-mismatch",
        "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        "driver-mismatch",
        "ggml_cuda_init: failed to initialize CUDA: system has unsupported display driver / cuda driver combination",
    ),
    ("driver-mismatch", "CUDA error: no kernel image is available for execution on the device"),
    ("driver-mismatch", "  what():  vk::createInstance: ErrorIncompatibleDriver"),
    ("driver-mismatch", "Failed to initialize NVML: Driver/library version mismatch"),
    ("cpu-unsupported", "Illegal instruction (core dumped)"),
    ("cpu-unsupported", "bash: line 1:     7 Illegal instruction     (core dumped) llama-server"),
    ("setting-invalid", 'error while handling argument "-np": stoi'),
    ("setting-invalid", 'error while handling environment variable "LLAMA_ARG_N_PARALLEL": stoi'),
    ("setting-invalid", "error: unknown value for --flash-attn: 'maybe'"),
    ("setting-invalid", "error: the supplied chat template is not supported: {{ raise_exception('no') }}"),
    ("server-crashed", "/build/ggml/src/ggml.c:3210: GGML_ASSERT(a->ne[2] == b->ne[0]) failed"),
    ("server-crashed", "terminate called after throwing an instance of 'std::runtime_error'"),
    ("server-crashed", "panic: interface conversion: interface {} is nil, not string"),
    (
        "parallel-refused",
        "time=2026-02-27T10:11:12.000Z level=WARN source=sched.go:450 "
        'msg="model architecture does not currently support parallel requests" architecture=qwen35moe',
    ),
    ("parallel-refused", "mllama doesn't support parallel requests yet"),
    ("parallel-refused", "mllama does not currently support parallel requests"),
    ("parallel-refused", "multimodal models don't support parallel requests yet"),
    (
        "igpu-dropped",
        "time=2026-08-29T08:45:23.466Z level=INFO source=runner.go:405 "
        'msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" id=0 library=Vulkan compute=0.0 '
        'name=Vulkan0 description="Intel(R) Iris(R) Xe Graphics (TGL GT2)" pci_id=0000:00:02.0',
    ),
    (
        "setting-invalid",
        'time=2026-08-29T08:45:23.466Z level=WARN source=config.go:263 msg="invalid environment variable, using default" '
        "key=OLLAMA_NUM_PARALLEL value=abc default=1",
    ),
    (
        "ctx-capped",
        'time=2026-08-29T08:45:23.466Z level=WARN source=server.go:114 msg="requested context size too large for model" '
        "num_ctx=65536 n_ctx_train=8192",
    ),
    (
        "out-of-memory",
        'time=2026-08-29T08:45:23.466Z level=INFO source=sched.go:641 msg="Load failed" model=/root/x '
        'error="llama-server process has terminated: signal: killed"',
    ),
    (
        "cpu-unsupported",
        'time=2026-08-29T08:45:23.466Z level=INFO source=sched.go:641 msg="Load failed" model=/root/x '
        'error="llama-server process has terminated: signal: illegal instruction (core dumped)"',
    ),
    (
        "arch-unknown",
        'time=2026-08-29T08:45:23.466Z level=INFO source=sched.go:641 msg="Load failed" model=/root/x '
        "error=\"llama-server process has terminated: exit status 1: error loading model: "
        "unknown model architecture: 'nemotron_h_omni'\"",
    ),
    (
        "load-timeout",
        'time=2026-08-29T08:45:23.466Z level=ERROR source=sched.go:641 msg="error loading llama server" '
        'error="timed out waiting for llama-server to start - progress 0.00 - "',
    ),
    (
        "model-too-large",
        'time=2026-08-29T08:45:23.466Z level=INFO source=sched.go:632 msg="model is too large for system memory" requireFull=true',
    ),
    (
        "model-too-large",
        'time=2026-08-29T08:45:23.466Z level=INFO source=sched.go:641 msg="Load failed" model=/root/x '
        'error="model requires more system memory (164.0 GiB) than is available (13.0 GiB)"',
    ),
)  # fmt: skip

FACTS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("no-devices", {}, "0.00.031.977 I ggml_vulkan: No devices found."),
    (
        "slots",
        {"n_slots": 3, "n_ctx": 2048, "kv_unified": False},
        "0.00.508.504 I srv    load_model: initializing, n_slots = 3, n_ctx_slot = 2048, kv_unified = 'false'",
    ),
    ("slots", {"n_slots": 4}, "srv          init: initializing slots, n_slots = 4"),
    ("slots", {"n_slots": 4}, 'INFO [                    init] initializing slots | tid="117" timestamp=1723514861 n_slots=4'),
    ("slot", {"slot": 0, "n_ctx": 4096}, "slot         init: id  0 | task -1 | new slot n_ctx_slot = 4096"),
    ("slot", {"slot": 2, "n_ctx": 512}, "slot   load_model: id  2 | task -1 | new slot, n_ctx = 512"),
    ("slot", {"n_ctx": 2048}, 'INFO [  init] new slot | tid="117" timestamp=1723514861 id_slot=0 n_ctx_slot=2048'),
    ("slot", {"n_ctx": 2048}, "n_ctx_slot = 2048"),
    ("loaded", {}, "srv  llama_server: model loaded"),
    ("loaded", {}, "main: model loaded"),
    ("loaded", {}, 'INFO [                    main] model loaded | tid="117" timestamp=1723514861'),
    ("http-up", {}, "main: HTTP server is listening, hostname: 192.168.5.3, port: 1444, http threads: 7"),
    ("http-up", {}, 'INFO [                    main] HTTP server listening | tid="117" port="8080"'),
    ("listening", {"url": "http://0.0.0.0:8080"}, "srv  llama_server: listening on http://0.0.0.0:8080"),
    ("listening", {"url": "http://127.0.0.1:8080"}, "main: server is listening on http://127.0.0.1:8080 - starting the main loop"),
    (
        "device-used",
        {"device": "Vulkan0", "name": "Intel(R) Iris(R) Xe Graphics (TGL GT2)", "pci": "0000:00:02.0"},
        "llama_prepare_model_devices: using device Vulkan0 (Intel(R) Iris(R) Xe Graphics (TGL GT2)) (0000:00:02.0) - 15870 MiB free",
    ),
    (
        "device-used",
        {"device": "Vulkan0", "name": "llvmpipe (LLVM 15.0.6, 256 bits)"},
        "0.00.468.893 I llama_prepare_model_devices: using device Vulkan0 (llvmpipe (LLVM 15.0.6, 256 bits)) (unknown id) - 2048 MiB free",
    ),
    (
        "device-used",
        {"device": "Vulkan0", "name": "NVIDIA GeForce RTX 2060"},
        "llama_model_load_from_file_impl: using device Vulkan0 (NVIDIA GeForce RTX 2060) - 5380 MiB free",
    ),
    (
        "device-listed",
        {"device": "Vulkan0", "name": "llvmpipe (LLVM 21.1.8, 256 bits)"},
        "0.00.055.981 I cmn  common_param:   - Vulkan0 : llvmpipe (LLVM 21.1.8, 256 bits) (24105 MiB, 23200 MiB free)",
    ),
    (
        "device-listed",
        {"device": "Vulkan0", "name": "NVIDIA GeForce RTX 2060"},
        "ggml_vulkan: 0 = NVIDIA GeForce RTX 2060 (NVIDIA) | uma: 0 | fp16: 1 | bf16: 1 | warp size: 32",
    ),
    (
        "device-listed",
        {"device": "CUDA0", "name": "NVIDIA GeForce RTX 4090"},
        "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes",
    ),
    ("backend", {"backend": "Vulkan"}, "load_backend: loaded Vulkan backend from /usr/lib/ggml/libggml-vulkan.so"),
    ("offload", {"offloaded": 31, "total": 31}, "load_tensors: offloaded 31/31 layers to GPU"),
    ("model-buffer", {"buffer": "Vulkan0", "mib": 92.1}, "load_tensors:      Vulkan0 model buffer size =    92.10 MiB"),
    ("model-buffer", {"buffer": "CPU", "mib": 70.31}, "llm_load_tensors:        CPU buffer size =    70.31 MiB"),
    ("kv-buffer", {"buffer": "CPU", "mib": 135.0}, "llama_kv_cache:        CPU KV buffer size =   135.00 MiB"),
    (
        "kv",
        {"mib": 135.0, "k": "f16", "v": "q8_0"},
        "llama_kv_cache: size =  135.00 MiB (  2048 cells,  30 layers,  3/3 seqs), K (f16):   67.50 MiB, V (q8_0):   67.50 MiB",
    ),
    (
        "kv",
        {"mib": 512.0, "k": "f16", "v": "f16"},
        "llama_init_from_model: KV self size  =  512.00 MiB, K (f16):  256.00 MiB, V (f16):  256.00 MiB",
    ),
    (
        "recurrent",
        {"mib": 0.01},
        "llama_memory_recurrent: size =    0.01 MiB (     2 cells,   6 layers,  2 seqs), R (f32):    0.01 MiB, S (f32): 0.00 MiB",
    ),
    ("compute-buffer", {"buffer": "CPU", "mib": 31.08}, "sched_reserve:        CPU compute buffer size =    31.08 MiB"),
    ("context", {"n_batch": 2048}, "llama_context: n_batch               = 2048"),
    ("context", {"n_ctx_per_seq": 4096}, "llama_init_from_model: n_ctx_per_seq = 4096"),
    ("context", {"n_ubatch": 512}, "llama_new_context_with_model: n_ubatch   = 512"),
    ("context", {"flash_attn": "enabled"}, "llama_context: flash_attn            = enabled"),
    ("flash-attention", {"state": "enabled"}, "llama_context: Flash Attention was auto, set to enabled"),
    ("threads", {"n_threads": 2}, "cmn          init: llama threadpool init, n_threads = 2"),
    ("build", {"build": "b11669"}, "cmn  common_param: common_params_print_info: build 11669 (Debian) with GNU 16.2.0 for Linux"),
    ("build", {"build": "b6374"}, "build: 6374 (unknown) with FreeBSD clang version 18.1.6 for x86_64-unknown-freebsd14.2"),
    ("build", {"build": "b1 (7e4c0a9)"}, "common_params_print_info: build 1 (7e4c0a9) with GNU 11.4.0 for Linux x86_64"),
    ("verbosity", {"level": 4}, "common_params_print_info: verbosity = 4 (adjust with the `-lv N` CLI arg)"),
    ("slot-launch", {"slot": 2, "task": 3}, "slot launch_slot_: id  2 | task 3 | processing task, is_child = 0"),
    ("slot-release", {"slot": 2, "task": 3, "tokens": 20}, "slot      release: id  2 | task 3 | stop processing: n_past = 20, truncated = 0"),
    ("cache-reused", {"tokens": 1058}, "slot   operator(): id  1 | task 11 | reusing chunk with size 1058, shifting KV cache [640, 1698) -> [200, 1258)"),
    ("load-failed", {}, "srv  llama_server: exiting due to model loading error"),
    ("load-failed", {}, "main: exiting due to model loading error"),
    ("ollama-format", {"architecture": "lfm2"}, "handle_lfm2: detected Ollama-format lfm2 GGUF; applying compatibility fixes"),
    (
        "ollama-commit",
        {"slots": 3, "ctx": 3072},
        'time=2026-11-30T10:20:06.769Z level=INFO source=runner.go:895 msg=load request="{Operation:commit LoraPath:[] Parallel:3 '
        'BatchSize:512 FlashAttention:Auto KvSize:3072 KvCacheType: NumThreads:2 GPULayers:[]}"',
    ),
    (
        "ollama-start",
        {"blob": "sha256-" + "a" * 64, "path": "/root/.ollama/models/blobs/sha256-" + "a" * 64, "slots": 3, "ctx": 3072},
        'time=2025-03-01T10:20:06.769Z level=INFO source=server.go:405 msg="starting llama server" cmd="/usr/bin/ollama runner '
        f'--model /root/.ollama/models/blobs/sha256-{"a" * 64} --ctx-size 3072 --batch-size 512 --parallel 3 --port 4"',
    ),
    ("ollama-started", {}, 'time=2026-11-30T10:20:07.022Z level=INFO source=server.go:1432 msg="llama runner started in 0.28 seconds"'),
    ("ollama-listening", {"version": "0.24.0"}, 'time=2026-11-30T10:19:59.487Z level=INFO source=routes.go:1864 msg="Listening on [::]:11434 (version 0.24.0)"'),
)  # fmt: skip

#: Lines that look like something and are nothing, or nothing wrong.
NOTHING: tuple[str, ...] = (
    "",
    "srv  update_slots: all slots are idle",
    "AMX is ready",
    "warning: one possible reason is that llama.cpp was compiled without GPU support",
    "Try increasing RLIMIT_MEMLOCK ('ulimit -l' as root).",
    "srv          init: Use --ui/--no-ui (or deprecated --webui/--no-webui) to enable/disable",
    "srv          init: preserve_reasoning kwarg: not supported by template",
    "~llama_context:        CPU compute buffer size is  15.1426 MiB, matches expectation of  15.1426 MiB",
    "llama_context: n_ctx_seq (2048) < n_ctx_train (8192) -- the full capacity of the model will not be utilized",
    "common_fit_params: encountered an error while trying to fit params to free device memory: failed to load model",
    "srv        decode: failed to find free space in the KV cache, retrying with smaller batch size, off = 0",
    'time=2026-11-30T10:13:36.667Z level=INFO source=sched.go:728 msg="loaded runners" count=2',
    'time=2026-11-30T10:13:36.667Z level=INFO source=server.go:433 msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine --port 4"',
    '[GIN] 2026/11/30 - 10:13:36 | 200 |      74.2µs |      172.17.0.1 | GET      "/api/version"',
    # What a client wrote, in a debug log: the server's words do not begin there.
    'srv  log_server_r: request:  {"messages":[{"content":"error: invalid argument: --mlock"}]}',
    'srv  params_from_: prompt: Context size has been exceeded.',
    "Parsed message: {\"role\":\"assistant\",\"content\":\"cudaMalloc failed: out of memory\"}",
    "slot process_toke: id  0 | task 0 | n_gen = 3, n_remaining = 1, next token:   260 ' model loaded'",
)  # fmt: skip
