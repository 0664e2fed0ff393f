"""The flags of the newest build that homellm knows, as data: for an image that nobody could ask yet.

Names and placeholders as that build's own --help lists them; below a flag, indented, only what homellm itself reads
there (values, levels, variables). Read by `assumed_dialect`, with the parser that reads every help.
"""

from __future__ import annotations

from dataclasses import replace

from homellm.domain.dialect import Dialect
from homellm.runners.dialect import parse_dialect

KNOWN_VERSION = "version: 0.7.0 (build 11669)"

KNOWN_FLAGS = """\
-h, --help, --usage
--version
-cl, --cache-list
--completion-bash
-t, --threads N
-tb, --threads-batch N
-C, --cpu-mask M
-Cr, --cpu-range lo-hi
--cpu-strict <0|1>
--prio N
--poll <0...100>
-Cb, --cpu-mask-batch M
-Crb, --cpu-range-batch lo-hi
--cpu-strict-batch <0|1>
--prio-batch N
--poll-batch <0|1>
-c, --ctx-size N
-n, --predict, --n-predict N
-b, --batch-size N
-ub, --ubatch-size N
--keep N
--swa-full
  (default: false)
-fa, --flash-attn [on|off|auto]
--perf, --no-perf
-e, --escape, --no-escape
--rope-scaling {none,linear,yarn}
--rope-scale N
--rope-freq-base N
--rope-freq-scale N
--yarn-orig-ctx N
--yarn-ext-factor N
--yarn-attn-factor N
--yarn-beta-slow N
--yarn-beta-fast N
-kvo, --kv-offload, -nkvo, --no-kv-offload
--repack, -nr, --no-repack
--no-host
-ctk, --cache-type-k TYPE
  allowed values: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1
-ctv, --cache-type-v TYPE
  allowed values: f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1
-dt, --defrag-thold N
  (DEPRECATED)
--rpc SERVERS
-lm, --load-mode MODE
  - auto: - none: - mmap: - mlock: - mmap+mlock: - dio:
-lzm, --lazy-mode MODE
--numa TYPE
-dev, --device <dev1,dev2,..>
--list-devices
-ot, --override-tensor <tensor name pattern>=<buffer type>,...
-cmoe, --cpu-moe
-ncmoe, --n-cpu-moe N
--moe-cache-mib N
-ncffn, --n-cpu-ffn N
-ngl, --gpu-layers, --n-gpu-layers N
  a number, 'auto' or 'all'
-sm, --split-mode {none,layer,row,tensor}
-ts, --tensor-split N0,N1,N2,...
-mg, --main-gpu INDEX
-fit, --fit [on|off]
-fitt, --fit-target MiB0,MiB1,MiB2,...
-fitc, --fit-ctx N
--check-tensors
--override-kv KEY=TYPE:VALUE,...
--op-offload, --no-op-offload
--lora FNAME
--lora-scaled FNAME:SCALE,...
--control-vector FNAME
--control-vector-scaled FNAME:SCALE,...
--control-vector-layer-range START END
-m, --model FNAME
-mu, --model-url MODEL_URL
-dr, --docker-repo [<repo>/]<model>[:quant]
-hf, -hfr, --hf-repo <user>/<model>[:quant]
-hff, --hf-file FILE
-hft, --hf-token TOKEN
--log-disable
--log-file FNAME
--log-jsonl, --no-log-jsonl
--log-colors [on|off|auto]
-v, --verbose, --log-verbose
--offline
-lv, --verbosity, --log-verbosity N
  - 0: output - 1: error - 2: warning - 3: info - 4: trace - 5: debug
  (env: LLAMA_ARG_LOG_VERBOSITY)
--log-prefix, --no-log-prefix
--log-timestamps, --no-log-timestamps
--spec-draft-type-k, -ctkd, --cache-type-k-draft TYPE
--spec-draft-type-v, -ctvd, --cache-type-v-draft TYPE
--samplers SAMPLERS
-s, --seed SEED
--sampler-seq, --sampling-seq SEQUENCE
--ignore-eos
--temp, --temperature N
--top-k N
--top-p N
--min-p N
--top-nsigma, --top-n-sigma N
--xtc-probability N
--xtc-threshold N
--typical, --typical-p N
--repeat-last-n N
--repeat-penalty N
--presence-penalty N
--frequency-penalty N
--dry-multiplier N
--dry-base N
--dry-allowed-length N
--dry-penalty-last-n N
--dry-sequence-breaker STRING
--adaptive-target N
--adaptive-decay N
--dynatemp-range N
--dynatemp-exp N
--mirostat N
--mirostat-lr N
--mirostat-ent N
-l, --logit-bias TOKEN_ID(+/-)BIAS
--grammar GRAMMAR
--grammar-file FNAME
-j, --json-schema SCHEMA
-jf, --json-schema-file FILE
-bs, --backend-sampling
--spec-draft-hf, -hfd, -hfrd, --hf-repo-draft <user>/<model>[:quant]
--spec-draft-threads, -td, --threads-draft N
--spec-draft-threads-batch, -tbd, --threads-batch-draft N
--spec-draft-cpu-mask, -Cd, --cpu-mask-draft M
--spec-draft-cpu-range, -Crd, --cpu-range-draft lo-hi
--spec-draft-cpu-strict, --cpu-strict-draft <0|1>
--spec-draft-prio, --prio-draft N
--spec-draft-poll, --poll-draft <0|1>
--spec-draft-cpu-mask-batch, -Cbd, --cpu-mask-batch-draft M
--spec-draft-cpu-strict-batch, --cpu-strict-batch-draft <0|1>
--spec-draft-prio-batch, --prio-batch-draft N
--spec-draft-poll-batch, --poll-batch-draft <0|1>
--spec-draft-override-tensor, -otd, --override-tensor-draft <tensor name pattern>=<buffer type>,...
--spec-draft-cpu-moe, -cmoed, --cpu-moe-draft
--spec-draft-n-cpu-moe, --spec-draft-ncmoe, -ncmoed, --n-cpu-moe-draft N
--spec-draft-n-max N
--spec-draft-n-min N
--spec-draft-n-ubatch N
--spec-synth-len L
--spec-synth-rates P0,P1,...
--spec-draft-p-split, --draft-p-split P
--spec-draft-p-min, --draft-p-min P
--spec-draft-backend-sampling, --no-spec-draft-backend-sampling
--spec-draft-sampling {greedy,probabilistic}
--spec-draft-device, -devd, --device-draft <dev1,dev2,..>
--spec-draft-ngl, -ngld, --gpu-layers-draft, --n-gpu-layers-draft N
--spec-draft-model, -md, --model-draft FNAME
--spec-type TYPES
--spec-ngram-mod-n-min N
--spec-ngram-mod-n-max N
--spec-ngram-mod-n-match N
--spec-ngram-simple-size-n N
--spec-ngram-simple-size-m N
--spec-ngram-simple-min-hits N
--spec-ngram-map-k-size-n N
--spec-ngram-map-k-size-m N
--spec-ngram-map-k-min-hits N
--spec-ngram-map-k4v-size-n N
--spec-ngram-map-k4v-size-m N
--spec-ngram-map-k4v-min-hits N
-lcs, --lookup-cache-static FNAME
-lcd, --lookup-cache-dynamic FNAME
--kv-unified-per-slot N
-ctxcp, --ctx-checkpoints, --swa-checkpoints N
-cms, --checkpoint-min-step N
-cram, --cache-ram N
-kvu, --kv-unified, -no-kvu, --no-kv-unified
--cache-idle-slots, --no-cache-idle-slots
--context-shift, --no-context-shift
-r, --reverse-prompt PROMPT
-sp, --special
--warmup, --no-warmup
--spm-infill
--pooling {none,mean,cls,last,rank}
-np, --parallel N
-cb, --cont-batching, -nocb, --no-cont-batching
-mm, --mmproj FILE
-mmu, --mmproj-url URL
--mmproj-auto, --no-mmproj, --no-mmproj-auto
--mmproj-offload, --no-mmproj-offload
-mmdev, --mmproj-device DEVICE
--image-min-tokens N
--image-max-tokens N
--mtmd-batch-max-tokens N
--video-fps N
--video-timestamp-interval N
--video-ffmpeg-dir DIR
-a, --alias STRING
--tags STRING
--embd-normalize N
--host HOST
--port PORT
--reuse-port
--path PATH
--cors-origins ORIGINS
--cors-methods METHODS
--cors-headers HEADERS
--cors-credentials, --no-cors-credentials
--api-prefix PREFIX
--ui-config, --webui-config JSON
--ui-config-file, --webui-config-file PATH
--ui-mcp-proxy, --webui-mcp-proxy, --no-ui-mcp-proxy, --no-webui-mcp-proxy
--tools TOOL1,TOOL2,...
--tools-runtime OPTION
--mcp-servers-config PATH
--mcp-servers-json JSON
-ag, --agent, -no-ag, --no-agent
--ui, --webui, --no-ui, --no-webui
--embedding, --embeddings
  (default: disabled)
--rerank, --reranking
--api-key KEY
--api-key-file FNAME
--ssl-key-file FNAME
--ssl-cert-file FNAME
--chat-template-kwargs STRING
-to, --timeout N
--sse-ping-interval N
--threads-http N
--cache-prompt, --no-cache-prompt
--cache-reuse N
--metrics
  (env: LLAMA_ARG_ENDPOINT_METRICS)
--props
--slots, --no-slots
--slot-save-path PATH
--media-path PATH
--models-dir PATH
--models-preset PATH
--models-max N
--models-autoload, --no-models-autoload
--jinja, --no-jinja
--reasoning-format FORMAT
-rea, --reasoning [on|off|auto]
--reasoning-effort LEVEL
--reasoning-budget N
--reasoning-budget-message MESSAGE
--reasoning-preserve, --no-reasoning-preserve
--chat-template JINJA_TEMPLATE
--chat-template-file JINJA_TEMPLATE_FILE
--skip-chat-parsing, --no-skip-chat-parsing
--prefill-assistant, --no-prefill-assistant
-sps, --slot-prompt-similarity SIMILARITY
--lora-init-without-apply
--sleep-idle-seconds SECONDS
--log-prompts-dir PATH
--embd-gemma-default
--fim-qwen-1.5b-default
--fim-qwen-3b-default
--fim-qwen-7b-default
--fim-qwen-7b-spec
--fim-qwen-14b-spec
--fim-qwen-30b-default
--gpt-oss-20b-default
--gpt-oss-120b-default
--vision-gemma-4b-default
--vision-gemma-12b-default
--spec-default
"""


def assumed_dialect() -> Dialect:
    """The dialect taken for an image that is not here or did not tell its flags; marked as assumed."""
    return replace(parse_dialect(KNOWN_VERSION, KNOWN_FLAGS), assumed=True)
