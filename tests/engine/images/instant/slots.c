/* Which slots are at work: shared by the children that serve one connection each. */
#include "instant.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#define TICK_US 5000
static struct shared {
    sem_t free;
    atomic_bool busy[MOST_SLOTS];
    atomic_int come, looks, seen;
} *shared;

void make_slots(const struct options *options)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&shared->free, 1, knob("INSTANT_SERIAL") ? 1 : options->slots);
}

int take_slot(const struct options *options)
{
    while (sem_wait(&shared->free) != 0)
        continue;
    for (int id = 0; id < options->slots && id < MOST_SLOTS; id++) {
        bool idle = false;
        if (atomic_compare_exchange_strong(&shared->busy[id], &idle, true))
            return id;
    }
    return -1;
}

void give_slot_back(int id)
{
    if (id >= 0)
        atomic_store(&shared->busy[id], false);
    sem_post(&shared->free);
}

bool slot_is_busy(int id)
{
    return atomic_load(&shared->busy[id]);
}

int busy_slots(void)
{
    int count = 0;
    for (int id = 0; id < MOST_SLOTS; id++)
        count += slot_is_busy(id);
    return count;
}

/* Chats come in companies, one for each slot; the number of those that came before this one. */
int come_for_company(void)
{
    return atomic_fetch_add(&shared->come, 1);
}

void await_looks(const struct options *options, int ticket, int looks)
{
    int company = (ticket / options->slots + 1) * options->slots;
    while (atomic_load(&shared->come) < company)
        usleep(TICK_US);
    int before = atomic_load(&shared->looks);
    while (atomic_load(&shared->looks) < before + looks && atomic_load(&shared->seen) < company)
        usleep(TICK_US);
}

/* Who saw all of them at work need not look again: `seen` is how many had come by then. */
void look_at_slots(const struct options *options)
{
    if (busy_slots() == options->slots)
        atomic_store(&shared->seen, atomic_load(&shared->come));
    atomic_fetch_add(&shared->looks, 1);
}
