/* What the environment asks for: the log, the faults of loading. The knobs are listed in README.md. */
#include "instant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)

const char *knob(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

double knob_number(const char *name, double otherwise)
{
    const char *value = knob(name);
    return value ? atof(value) : otherwise;
}

/* Whether the file that a knob names has content; true without the knob. */
bool knob_allows(const char *name)
{
    struct stat status;
    const char *path = knob(name);
    return !path || (stat(path, &status) == 0 && status.st_size > 0);
}

/* A line of the log: newer builds stamp it with minutes, seconds, milliseconds and microseconds since the start. */
void say(const char *format, ...)
{
    static struct timespec start;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!start.tv_sec)
        start = now;
    long long us = (now.tv_sec - start.tv_sec) * 1000000LL + (now.tv_nsec - start.tv_nsec) / 1000;
    if (help_has("--load-mode"))
        fprintf(stderr, "%lld.%02lld.%03lld.%03lld ", us / 60000000, us / 1000000 % 60, us / 1000 % 1000, us % 1000);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void fail_loading(const char *model, const char *why)
{
    say("E gguf_init_from_file: %s", why);
    say("E srv    load_model: failed to load model, '%s'", model);
    say("E srv  llama_server: exiting due to model loading error");
    exit(1);
}

static int open_model(const char *path)
{
    char why[512], magic[4] = "";
    int file = open(path ? path : "", O_RDONLY);
    if (file < 0) {
        snprintf(why, sizeof why, "failed to open GGUF file '%s' (%s)", path ? path : "", strerror(errno));
        fail_loading(path ? path : "", why);
    }
    if (read(file, magic, sizeof magic) < 4 || memcmp(magic, "GGUF", 4) != 0) {
        snprintf(why, sizeof why, "invalid magic characters: '%.4s', expected 'GGUF'", magic);
        fail_loading(path, why);
    }
    return file;
}

static void lock_model(int file)
{
    struct stat status;
    fstat(file, &status);
    void *weights = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (weights == MAP_FAILED || mlock(weights, status.st_size) != 0)
        say("W warning: failed to mlock %lld-byte buffer (after previously locking 0 bytes): %s",
            (long long)status.st_size, strerror(errno));
}

/* Takes memory until the limit of the container kills it; without one it gives up at the knob's number. */
static void allocate(int mebibytes)
{
    for (int i = 0; i < mebibytes; i++) {
        char *piece = malloc(MIB);
        if (!piece)
            break;
        memset(piece, 1, MIB);
    }
    say("E INSTANT_ALLOCATE_MIB: nobody stopped it");
    exit(3);
}

static void be_for_another_cpu(void)
{
    say("I cmn          init: llama threadpool init, n_threads = 2");
    /* An instruction that no CPU has. raise(SIGILL) would not do: PID 1 ignores a signal that it has no handler for. */
#if defined(__x86_64__)
    __asm__ volatile("ud2");
#else
    __asm__ volatile(".inst 0");
#endif
}

/* Everything before the waiting: what is said, and what ends it at once. */
void load(const struct options *options)
{
    say("I srv  llama_server: initializing ...");
    if (knob("INSTANT_SAY"))
        say("%s", knob("INSTANT_SAY"));
    if (knob("INSTANT_EXIT"))
        exit((int)knob_number("INSTANT_EXIT", 1));
    say("I srv    load_model: loading model '%s'", options->model ? options->model : "");
    int file = open_model(options->model);
    if (options->lock_memory)
        lock_model(file);
    if (knob("INSTANT_SIGILL"))
        be_for_another_cpu();
    if (knob("INSTANT_ALLOCATE_MIB"))
        allocate((int)knob_number("INSTANT_ALLOCATE_MIB", 0));
}

static void say_ready_as_in_early_2025(const struct options *options)
{
    say("srv          init: initializing slots, n_slots = %d", options->slots);
    for (int id = 0; id < options->slots; id++)
        say("slot         init: id  %d | task -1 | new slot n_ctx_slot = %d", id, options->ctx_slot);
    say("main: model loaded");
    say("main: server is listening on http://%s:%s - starting the main loop", options->host, options->port);
}

void say_ready(const struct options *options)
{
    const char *recorded = knob("INSTANT_REPLAY") ? read_file(knob("INSTANT_REPLAY")) : NULL;
    if (recorded) {
        fputs(recorded, stderr);
    } else if (!help_has("--load-mode")) {
        say_ready_as_in_early_2025(options);
    } else {
        say("I srv    load_model: initializing, n_slots = %d, n_ctx_slot = %d, kv_unified = 'false'", options->slots,
            options->ctx_slot);
        say("I srv  llama_server: model loaded");
        say("I srv  llama_server: listening on http://%s:%s", options->host, options->port);
    }
}
