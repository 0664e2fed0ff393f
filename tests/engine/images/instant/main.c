/* The life of the server: loading, ready, ended. */
#include "instant.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 50

static volatile sig_atomic_t terms;

static void on_term(int signal)
{
    (void)signal;
    terms++;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A busy server hangs on the first SIGTERM and leaves at the second, with 1; an idle one leaves with 0. */
static void end_if_told(void)
{
    int needed = (int)knob_number("INSTANT_TERMS_NEEDED", 1);
    if (terms < needed)
        return;
    say("I srv    operator(): operator(): cleaning up before exit...");
    exit(needed > 1 ? 1 : 0);
}

static void become_ready(const struct options *options)
{
    /* Not before: as PID 1 a loading llama-server has no handler, and SIGTERM does nothing. */
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    say_ready(options);
}

/* A child for each connection: chats overlap, and none can hold up the others. */
static void serve_one(int server, const struct options *options, bool ready)
{
    int connection = accept(server, NULL, NULL);
    if (connection < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        answer(connection, options, ready);
        _exit(0);
    }
    close(connection);
}

/* Through a volatile pointer: memory that nobody reads is memory that the compiler does not take. */
static void grow(void)
{
    volatile char *memory = malloc(1 << 20);
    for (size_t at = 0; memory != NULL && at < 1 << 20; at += 4096)
        memory[at] = 1;
}

static void pass_the_time_of_loading(void)
{
    if (knob("INSTANT_TALK_WHILE_LOADING"))
        say("I srv    load_model: still loading");
    if (knob("INSTANT_GROW_WHILE_LOADING"))
        grow();
}

static void serve(int server, const struct options *options)
{
    double ready_at = now_s() + knob_number("INSTANT_READY_AFTER_S", 0);
    double crash_after = knob_number("INSTANT_CRASH_AFTER_S", -1);
    bool ready = false;
    for (;;) {
        if (!ready && now_s() >= ready_at && knob_allows("INSTANT_READY_WHEN")) {
            ready_at = now_s();
            become_ready(options);
            ready = true;
        }
        if (ready && crash_after >= 0 && now_s() >= ready_at + crash_after)
            exit((int)knob_number("INSTANT_CRASH_CODE", 1));
        if (!ready)
            pass_the_time_of_loading();
        struct pollfd waiting = {.fd = server, .events = POLLIN};
        if (poll(&waiting, 1, TICK_MS) > 0)
            serve_one(server, options, ready);
        end_if_told();
    }
}

int main(int argc, char **argv)
{
    struct options options = {.alias = "", .host = "127.0.0.1", .port = "8080", .slots = 4, .ctx_slot = 8192};
    options.api_key = knob("LLAMA_API_KEY");
    setvbuf(stderr, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "--instant-probe") == 0)
        return probe_health(argc > 2 ? argv[2] : "8080");
    parse_arguments(argc, argv, &options);
    options.slots = (int)knob_number("INSTANT_SLOTS", options.slots);
    options.ctx_slot = (int)knob_number("INSTANT_CTX", options.ctx_slot);
    options.alias = knob("INSTANT_ALIAS") ? knob("INSTANT_ALIAS") : options.alias;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    make_slots(&options);
    int server = listen_on(&options);
    load(&options);
    serve(server, &options);
}
