/* A stand-in for llama-server: it speaks its help, its log and its API, and loads nothing. See README.md. */
#ifndef INSTANT_H
#define INSTANT_H

#include <stdbool.h>

struct options {
    const char *model, *alias, *host, *port, *api_key;
    int slots, ctx_slot;
    bool lock_memory;
};

/* arguments.c: what the command line says, held against the flags of /dialect/help.txt. */
const char *read_file(const char *path);
void parse_arguments(int argc, char **argv, struct options *options);
bool help_has(const char *flag);

/* knobs.c: the faults that the environment asks for. */
const char *knob(const char *name);
double knob_number(const char *name, double otherwise);
bool knob_allows(const char *name);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void load(const struct options *options);
void say_ready(const struct options *options);

/* slots.c: which of them are at work. */
#define MOST_SLOTS 32
void make_slots(const struct options *options);
int take_slot(const struct options *options);
void give_slot_back(int id);
int come_for_company(void);
void await_looks(const struct options *options, int ticket, int looks);
void look_at_slots(const struct options *options);
bool slot_is_busy(int id);
int busy_slots(void);

/* http.c: the API. */
int listen_on(const struct options *options);
void answer(int connection, const struct options *options, bool ready);
int probe_health(const char *port);

#endif
