"""Problems of the command line, the port and the machine: what a server says before it touches a model."""

from __future__ import annotations

from homellm.health.rules import Facts, Rule, problems

_LOAD_MODES = {"--mlock": "mlock", "--no-mmap": "none", "--mmap": "mmap", "--direct-io": "dio", "-dio": "dio"}


def _unknown_flag(facts: Facts) -> str:
    flag = str(facts.get("subject", ""))
    if mode := _LOAD_MODES.get(flag):
        return (
            f"This build dropped {flag}. Newer builds take --load-mode {mode}: write that, or declare mlock in the "
            "stack file and homellm picks the flag that the image knows."
        )
    return (
        f"This build does not know {flag}. Its --help lists what it takes; remove the flag, or use an image of the "
        "build that has it."
    )


def _deprecated_flag(facts: Facts) -> str:
    instead = facts.get("instead")
    use = f"Use {instead} instead" if instead else "Write the flag that the line names instead"
    return f"It works on this build and stops a newer one from starting. {use}."


def _invalid(facts: Facts) -> str:
    subject = facts.get("subject", "the setting")
    return f"The server did not start because of the value of {subject}. Give it a value that its --help allows."


def _no_device(facts: Facts) -> str:
    return (
        f"The device {facts.get('subject', '')} that was asked for does not exist in the container. See what does with "
        "--list-devices; check that its node below /dev/dri (or the NVIDIA request) and its group are passed in."
    )


_TEMPLATE = (
    "The server tried one chat with this template and it failed; its next lines say where. Mend it, use the one of the "
    "model's makers, or remove chat_template_file: the model's own is used then."
)
NO_GPU_HINT = (
    "Everything runs on the CPU. Check that the image has a backend for this GPU, that its device node and group are "
    "passed into the container, and that no variable hides it; homellm check tells which."
)
_DRIVER = (
    "The GPU driver of the host and the server's build do not fit together. Update the host's driver, or take an image "
    "of the version that this driver supports (for CUDA 12 and 13 there are two)."
)
#: Also for a server that ended without a word: what `diagnose_exit` and a log that breaks off say.
CPU_HINT = (
    "This server was built for another CPU (SIGILL). Use the official image, ghcr.io/ggml-org/llama.cpp:server (or its "
    "-vulkan, -cuda, -rocm sister), which has a backend for every CPU generation."
)
DEVICE_HINT = (
    "This is a Vulkan driver on the CPU (llvmpipe), slower than no GPU at all. Pass the real GPU's node and group, and "
    "never set GGML_VK_VISIBLE_DEVICES, which makes this one eligible."
)
_NO_DRIVER = (
    "NVIDIA's driver is not visible in the container. Start it with the GPU request (--gpus, or the GPU in the stack "
    "file) on a host that has the NVIDIA container toolkit."
)
#: What a shell, or Go, writes before the name of a signal.
_SHELL = r"(?:\S+: line \d+: +\d+ +|signal: |SIGILL: |SIGSEGV: )*"
_GPU_ERROR = r"(?:failed to initialize (?:CUDA|ROCm): |(?:CUDA|ROCm) error(?: \d+ at \S+)?: )?"
_PORT = (
    "Another program listens on that port. Find it with `ss -ltnp`, stop it or choose another port; inside a container "
    "it means that two servers share its network."
)
_NO_AUTH = (
    "Everybody who reaches the port can use the model. Publish it on 127.0.0.1 only, or set an API key (api_key in the "
    "stack file, --api-key)."
)
_CRASH = (
    "The server ended by a fault of its own. Try another image tag, and report the line with the server's version to "
    "its makers."
)

_POOLING = (
    "Where the model serves embeddings and pools by their mean, this build cannot divide its ubatch among the slots "
    "(llama.cpp's issue 27175): set ubatch and batch to a multiple of parallel, 1536 for three slots. Else the server "
    "ended by a fault of its own: try another image tag."
)

FLAG_RULES: tuple[Rule, ...] = (
    *problems(
        "flag-unknown",
        _unknown_flag,
        ("argument: ", r"(?:invalid|unknown) argument: (?P<subject>\S+)"),
        fatal=True,
    ),
    *problems(
        "no-gpu",
        _no_device,
        ("invalid device: ", r"(?:error while handling argument \"[^\"]*\": )?invalid device: (?P<subject>\S+)"),
        fatal=True,
    ),
    *problems(
        "setting-invalid",
        _invalid,
        (
            "error while handling ",
            r"error while handling (?:argument|environment variable) \"(?P<subject>[^\"]+)\": (?P<why>.*)",
        ),
        ("unknown value for ", r"unknown value for (?P<subject>-\S+?):?(?: |$)"),
        ("error: invalid ", r"error: invalid (?:value for|parameter for argument:) (?P<subject>\S+)"),
        ("error: --", r"error: (?P<subject>--\S+) is required"),
        fatal=True,
    ),
    *problems(
        "setting-invalid",
        _TEMPLATE,
        ("chat template is not supported", r"error: the supplied chat template is not supported"),
        fatal=True,
    ),
    *problems(
        "flag-deprecated",
        _deprecated_flag,
        (
            "deprecated",
            r"(?:DEPRECATED: |warning: )?(?:argument )?'?(?P<subject>--?[\w-]+)'?,? (?:is|are) deprecated"
            r"(?:.*?[Uu]se '?(?P<instead>--?[\w-]+(?: \w[\w+-]*)?)'? instead)?",
        ),
        ("DEPRECATED", r"DEPRECATED: (?:argument )?'?(?P<subject>--?[\w-]+)"),
    ),
    *problems(
        "no-gpu",
        NO_GPU_HINT,
        "no usable GPU found",
        ("ompiled with", r"(?:[Nn]ot compiled with|llama\.cpp was compiled without support for) GPU offload"),
        ("-capable device is detected", _GPU_ERROR + r"no (?:CUDA|ROCm|HIP)-capable device is detected"),
    ),
    # Every image with Vulkan says so on a machine without a GPU: a problem only where one was asked for.
    Rule("no-devices", "No devices found", r"ggml_vulkan: No devices found"),
    *problems("no-gpu", _NO_DRIVER, ("libcuda.so", r".*libcuda\.so\S*: cannot open shared object")),
    *problems("cpu-device", DEVICE_HINT, "Device type is CPU"),
    *problems(
        "driver-mismatch",
        _DRIVER,
        ("driver version is insufficient", _GPU_ERROR + "CUDA driver version is insufficient"),
        ("driver combination", _GPU_ERROR + "system has unsupported display driver"),
        ("forward compatibility", _GPU_ERROR + "forward compatibility was attempted on non supported HW"),
        ("no kernel image", _GPU_ERROR + "no kernel image is available for execution on the device"),
        ("unsupported toolchain", _GPU_ERROR + "the provided PTX was compiled with an unsupported toolchain"),
        "ErrorIncompatibleDriver",
        ("version mismatch", "(?:Failed to initialize NVML: )?[Dd]river/library version mismatch"),
    ),
    # Whatever else keeps CUDA or ROCm from starting: no device of theirs is used.
    *problems("no-gpu", NO_GPU_HINT, ("failed to initialize ", r"failed to initialize (?:CUDA|ROCm): (?P<why>.*)")),
    *problems("cpu-unsupported", CPU_HINT, ("llegal instruction", _SHELL + "[Ii]llegal instruction"), fatal=True),
    *problems(
        "port-in-use",
        _PORT,
        ("couldn't bind", "couldn't bind (?:HTTP server|to server) socket"),
        ("address already in use", r".*listen tcp\d? \S+ bind: address already in use"),
        fatal=True,
    ),
    *problems(
        "no-auth",
        _NO_AUTH,
        "security: no API key is set",
        ("no API key is set", "CORS is set to allow all origins .*no API key is set"),
    ),
    *problems("server-crashed", _POOLING, "GGML_ASSERT(ggml_can_mul_mat(a, b)) failed", fatal=True),
    *problems(
        "server-crashed",
        _CRASH,
        "GGML_ASSERT(",
        ("terminate called", "terminate called (?:after throwing|without)"),
        ("egmentation fault", _SHELL + "[Ss]egmentation fault"),
        "panic: ",
        "fatal error: ",
        fatal=True,
    ),
)
