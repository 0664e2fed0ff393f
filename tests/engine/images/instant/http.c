/* The API, as far as homellm asks: /health, /props, /slots, /v1/models, /metrics and one kind of chat. */
#include "instant.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 65536
#define PATIENCE_S 60
#define TICK_US 20000

int listen_on(const struct options *options)
{
    int server = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(options->port))};
    inet_pton(AF_INET, options->host, &address.sin_addr);
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 64) != 0) {
        say("E srv         start: couldn't bind HTTP server socket, hostname: %s, port: %s", options->host, options->port);
        exit(1);
    }
    return server;
}

static void reply(int connection, int status, const char *type, const char *format, ...)
{
    char body[8192], head[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    snprintf(head, sizeof head, "HTTP/1.1 %d -\r\nServer: llama.cpp\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n", status, type, strlen(body));
    if (write(connection, head, strlen(head)) < 0 || write(connection, body, strlen(body)) < 0)
        return;
}

#define JSON "application/json; charset=utf-8"

static void refuse(int connection, int status, const char *message, const char *type)
{
    reply(connection, status, JSON, "{\"error\":{\"message\":\"%s\",\"type\":\"%s\",\"code\":%d}}", message, type, status);
}

/* Reads the head and as much of the body as Content-Length tells; false when the client breaks off. */
static bool read_request(int connection, char *request)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    size_t used = 0, wanted = 0;
    while (used < REQUEST_BYTES - 1) {
        ssize_t got = read(connection, request + used, REQUEST_BYTES - 1 - used);
        if (got <= 0)
            return false;
        request[used += got] = 0;
        char *end = strstr(request, "\r\n\r\n"), *length = strcasestr(request, "\r\nContent-Length:");
        if (end && !wanted)
            wanted = (end + 4 - request) + (length && length < end ? atoi(length + 17) : 0);
        if (wanted && used >= wanted)
            return true;
    }
    return true;
}

static bool authorized(const char *request, const char *key)
{
    char wanted[512];
    snprintf(wanted, sizeof wanted, "Authorization: Bearer %s\r\n", key);
    return strcasestr(request, wanted) != NULL;
}

/* Takes a slot, waiting for a free one, for as long as a chat takes; the status that the chat ends with. */
static int chat_in_a_slot(const struct options *options, bool short_one)
{
    int ticket = short_one ? 0 : come_for_company();
    int id = take_slot(options);
    bool alone = busy_slots() < 2;
    if (!short_one && knob("INSTANT_CHAT_LOOKS"))
        await_looks(options, ticket, (int)knob_number("INSTANT_CHAT_LOOKS", 0));
    while (!knob_allows("INSTANT_CHAT_WHEN"))
        usleep(TICK_US);
    give_slot_back(id);
    return (int)knob_number(alone ? "INSTANT_CHAT_STATUS" : "INSTANT_CHAT_STATUS_OF_SEVERAL", 200);
}

static void chat(int connection, const char *request, const struct options *options)
{
    const char *tokens = strstr(request, "\"max_tokens\": ");
    int status = chat_in_a_slot(options, tokens && atoi(tokens + 14) == 1);
    if (status != 200) {
        refuse(connection, status, "made to fail", "server_error");
        return;
    }
    reply(connection, 200, JSON,
          "{\"choices\":[{\"finish_reason\":\"length\",\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"ok\"}}],"
          "\"created\":%lld,\"model\":\"%s\",\"system_fingerprint\":\"instant\",\"object\":\"chat.completion\","
          "\"usage\":{\"completion_tokens\":1,\"prompt_tokens\":10,\"total_tokens\":11},\"id\":\"chatcmpl-instant\","
          "\"timings\":{\"cache_n\":0,\"prompt_n\":10,\"prompt_ms\":1.0,\"predicted_n\":1,\"predicted_ms\":1.0}}",
          (long long)time(NULL), options->alias);
}

static void embedding(int connection, const struct options *options)
{
    reply(connection, 200, JSON,
          "{\"model\":\"%s\",\"object\":\"list\",\"usage\":{\"prompt_tokens\":1,\"total_tokens\":1},"
          "\"data\":[{\"embedding\":[0.6,0.8],\"index\":0,\"object\":\"embedding\"}]}",
          options->alias);
}

static void slots(int connection, const struct options *options)
{
    char list[4096] = "";
    look_at_slots(options);
    for (int id = 0; id < options->slots && id < MOST_SLOTS; id++) {
        char one[128];
        snprintf(one, sizeof one, "%s{\"id\":%d,\"n_ctx\":%d,\"is_processing\":%s}", id ? "," : "", id, options->ctx_slot,
                 slot_is_busy(id) ? "true" : "false");
        strncat(list, one, sizeof list - strlen(list) - 1);
    }
    reply(connection, 200, JSON, "[%s]", list);
}

static void answer_request(int connection, const char *request, const struct options *options, bool ready)
{
    char method[8] = "", path[256] = "";
    if (sscanf(request, "%7s %255[^? ]", method, path) != 2)
        return;
    bool open = strcmp(path, "/health") == 0 || strcmp(path, "/v1/models") == 0 || strcmp(path, "/models") == 0;
    if (!open && options->api_key && !authorized(request, options->api_key))
        refuse(connection, 401, "Invalid API Key", "authentication_error");
    else if (!ready)
        refuse(connection, 503, "Loading model", "unavailable_error");
    else if (strcmp(path, "/health") == 0)
        reply(connection, 200, JSON, "{\"status\":\"ok\"}");
    else if (strcmp(path, "/props") == 0)
        reply(connection, 200, JSON,
              "{\"default_generation_settings\":{\"n_ctx\":%d},\"total_slots\":%d,\"model_alias\":\"%s\","
              "\"model_path\":\"%s\",\"build_info\":\"instant\",\"is_sleeping\":false,\"chat_template_caps\":{}}",
              options->ctx_slot, options->slots, options->alias, options->model);
    else if (open)
        reply(connection, 200, JSON, "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"owned_by\":\"llamacpp\"}]}",
              options->alias);
    else if (strcmp(path, "/slots") == 0 && !knob("INSTANT_NO_SLOTS"))
        slots(connection, options);
    else if (strcmp(path, "/metrics") == 0)
        reply(connection, 200, "text/plain", "llamacpp:requests_processing %d\nllamacpp:requests_deferred 0\n", busy_slots());
    else if (strcmp(method, "POST") == 0 && strstr(path, "/chat/completions"))
        chat(connection, request, options);
    else if (strcmp(method, "POST") == 0 && strstr(path, "/embeddings"))
        embedding(connection, options);
    else
        refuse(connection, 404, "File Not Found", "not_found_error");
}

void answer(int connection, const struct options *options, bool ready)
{
    static char request[REQUEST_BYTES];
    if (read_request(connection, request))
        answer_request(connection, request, options, ready);
    shutdown(connection, SHUT_WR);
    close(connection);
}

/* For a HEALTHCHECK of an image that has no curl: 0 when the server of this container is healthy. */
int probe_health(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char line[64] = "";
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
        write(connection, "GET /health HTTP/1.1\r\n\r\n", 24) != 24 || read(connection, line, sizeof line - 1) <= 0)
        return 1;
    return strncmp(line, "HTTP/1.1 200", 12) != 0;
}
