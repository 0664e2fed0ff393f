"""A small server that speaks Ollama's API over the real llama-server. See README.md."""
