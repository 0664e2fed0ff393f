/* The command line, held against the flags that the dialect's own help lists: what it lacks is refused. */
#include "instant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP "/dialect/help.txt"
#define VERSION "/dialect/version.txt"

enum flag_kind { UNKNOWN, SWITCH, WITH_VALUE };

const char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    size_t used = 0, room = 1 << 16;
    char *text = malloc(room);
    for (size_t got; (got = fread(text + used, 1, room - used - 1, file)) > 0;)
        if ((used += got) + 1 >= room)
            text = realloc(text, room *= 2);
    text[used] = 0;
    fclose(file);
    return text;
}

/* One line of the help: `-np,   --parallel N      text`. Spellings, then a placeholder where a value follows. */
static enum flag_kind kind_in_line(const char *line, const char *flag)
{
    bool found = false;
    const char *at = line;
    while (*at == '-') {
        size_t length = strcspn(at, ", \n");
        found = found || (strlen(flag) == length && strncmp(at, flag, length) == 0);
        at += length;
        if (*at != ',')
            break;
        at += 1 + strspn(at + 1, " ");
    }
    if (!found)
        return UNKNOWN;
    return at[0] == ' ' && at[1] != ' ' && at[1] != '\n' && at[1] != 0 ? WITH_VALUE : SWITCH;
}

static enum flag_kind kind_of(const char *flag)
{
    static const char *help;
    if (!help && !(help = read_file(HELP)))
        help = "";
    for (const char *line = help; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        enum flag_kind kind = *line == '-' ? kind_in_line(line, flag) : UNKNOWN;
        if (kind != UNKNOWN)
            return kind;
    }
    return UNKNOWN;
}

bool help_has(const char *flag)
{
    return kind_of(flag) != UNKNOWN;
}

static bool is(const char *flag, const char *brief, const char *full)
{
    return strcmp(flag, brief) == 0 || strcmp(flag, full) == 0;
}

static int number(const char *flag, const char *value)
{
    char *end;
    long result = strtol(value, &end, 10);
    if (end == value || *end) {
        fprintf(stderr, "error while handling argument \"%s\": stoi\n", flag);
        exit(1);
    }
    return (int)result;
}

static void take(struct options *options, const char *flag, const char *value)
{
    if (is(flag, "-m", "--model"))
        options->model = value;
    else if (is(flag, "-a", "--alias"))
        options->alias = value;
    else if (strcmp(flag, "--host") == 0)
        options->host = value;
    else if (strcmp(flag, "--port") == 0)
        options->port = value;
    else if (strcmp(flag, "--api-key") == 0)
        options->api_key = value;
    else if (is(flag, "-np", "--parallel"))
        options->slots = number(flag, value);
    else if (is(flag, "-c", "--ctx-size"))
        options->ctx_slot = number(flag, value);
    else if (is(flag, "-lm", "--load-mode"))
        options->lock_memory = strstr(value, "mlock") != NULL;
    else if (strcmp(flag, "--mlock") == 0)
        options->lock_memory = true;
}

static int pad256(int tokens)
{
    return (tokens + 255) / 256 * 256;
}

static void print_and_exit(const char *path, FILE *stream)
{
    const char *text = read_file(path);
    fputs(text ? text : "", stream);
    fflush(stream);
    exit(text ? 0 : 1);
}

void parse_arguments(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        if (is(argv[i], "-h", "--help"))
            print_and_exit(HELP, stdout);
        if (strcmp(argv[i], "--version") == 0)
            print_and_exit(VERSION, stderr);
        enum flag_kind kind = kind_of(argv[i]);
        if (kind == UNKNOWN) {
            fprintf(stderr, "error: invalid argument: %s\n", argv[i]);
            exit(1);
        }
        if (kind == WITH_VALUE && i + 1 == argc) {
            fprintf(stderr, "error while handling argument \"%s\": expected value for argument\n", argv[i]);
            exit(1);
        }
        const char *flag = argv[i];
        take(options, flag, kind == WITH_VALUE ? argv[++i] : "");
    }
    /* llama-server splits the context over the slots, in steps of 256 tokens. */
    options->ctx_slot = pad256(pad256(options->ctx_slot) / options->slots);
}
