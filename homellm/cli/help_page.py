"""The help of `homellm` as the command line prints it, made by python -m scripts.help_page."""

HELP_PAGE = """\
Usage: homellm [OPTIONS] COMMAND [ARGS]...

  Declare the models of a home server, start them with Docker, and prove that
  they run as declared.

Options:
  -f, --file PATH        The stack file; else HOMELLM_FILE, else
                         ./homellm.yaml.
  --format <table|json>  A table for people, or JSON for programs.
  --no-color             No colours; NO_COLOR does the same.
  --debug                Show what the engine said, and tracebacks.
  --version              Print the version of homellm.
  --install-completion   Install completion for the current shell.
  --show-completion      Show completion for the current shell, to copy it or
                         customize the installation.
  -h, --help             Show this message and exit.

Run:
  up         Start what is declared, and prove that it runs as declared.
  down       Stop and remove what carries the stack's labels; no model files.
  restart    Stop and start what is there, and verify it again.
  pull       Bring the images and the models of hf: sources; start nothing.

Look:
  plan       Show what up would do, with each cause and undo; change nothing.
  check      Hold what runs against what was asked, and show the evidence.
  ps         Show what runs now: state, slots, endpoint, container.
  logs       Print the servers' logs.
  doctor     Say what this host is, what would stop the stack, what to type.
  fit        Reckon what models need of memory, and how many slots fit.
  explain    Say what happened in a server's log, and what to do about it.

Print:
  endpoints  Print the addresses of the models, or a client's configuration.
  render     Print a docker run script or a compose file, with every reason.
  config     Print the stack file as it is understood, secrets redacted.
  schema     Print the JSON Schema of a stack file, for editors.
  version    Print the version of homellm.

  Every verb has its own help: homellm up --help. Options stand before or
  after the verb.
"""
