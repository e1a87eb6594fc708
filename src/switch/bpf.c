/* bpf.c - the switch inside the kernel: loads bpf/program.c at the interface that has the address, and at the loopback for workers on
 * this machine. Jobs begin and end here, over the socket, as in udp.c; the program adds. */
#include "switch/switch.h"

#ifdef TITHE_HAS_BPF

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/sized.h"
#include "switch/bpf_state.h"

enum {
    INTERFACES = 2,
    IN_FLIGHT = 512,  /* packets of all workers: the kernel keeps about a thousand for a processor */
    TCX_INGRESS = 46, /* BPF_TCX_INGRESS, which headers before Linux 6.6 do not have */
    PRIORITY = 1      /* of a filter, where that is missing */
};

/* The program as clang made it, for libbpf. */
__asm__(".pushsection .rodata\n.balign 16\nswitch_program:\n.incbin \"" TITHE_BPF_OBJECT "\"\n.balign 8\n"
        "switch_program_bytes: .quad switch_program_bytes - switch_program\n.popsection\n");
extern const uint8_t switch_program[];
extern const uint64_t switch_program_bytes; /* some zeros behind it included */

typedef struct shared {
    void *memory;
    size_t bytes;
    int map;
} shared;

typedef struct in_kernel {
    struct bpf_object *object;
    int program;
    int links[INTERFACES];                  /* -1: none */
    struct bpf_tc_hook filters[INTERFACES]; /* where links are not known; ifindex 0: none */
    shared places, peers, slots;
    size_t slot_bytes;
    int counts;
    bpf_setup setup;
} in_kernel;

static const char *refuse(const tithe_switch_options *o)
{
    (void)o;
    const int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tithe_probe", 4, 4, 1, NULL);
    if (map >= 0) {
        close(map);
        return NULL;
    }
    return errno == EPERM
               ? "The backend 'bpf' needs CAP_BPF and CAP_NET_ADMIN: start the switch as root, or take "
                 "`backend` udp."
               : "This kernel takes no bpf programs: take `backend` udp.";
}

/* ---- what the program and this process share ------------------------------------------------------------------- */

static bool map_shared(const in_kernel *k, const char *name, size_t each, shared *out)
{
    const struct bpf_map *map = bpf_object__find_map_by_name(k->object, name);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    out->map = bpf_map__fd(map);
    out->bytes = ((each + 7) / 8 * 8 * bpf_map__max_entries(map) + page - 1) / page * page;
    void *memory = mmap(NULL, out->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, out->map, 0);
    out->memory = memory == MAP_FAILED ? NULL : memory;
    return out->memory;
}

static bpf_slot *slot_at(const in_kernel *k, size_t i)
{
    return (void *)((uint8_t *)k->slots.memory + i * k->slot_bytes);
}

/* As soon as nobody else is at it: the program never waits while it holds a slot. */
static void clear_slot(bpf_slot *s, uint64_t job)
{
    uint32_t free = 0;
    while (!__atomic_compare_exchange_n(&s->lock, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        free = 0;
    s->job = job;
    s->s.count = 0;
    __atomic_store_n(&s->lock, 0, __ATOMIC_SEQ_CST);
}

static void clear_place(const in_kernel *k, uint32_t place, uint64_t job)
{
    bpf_peer *peers = (bpf_peer *)k->peers.memory + (size_t)place * k->setup.workers;
    memset(peers, 0, k->setup.workers * sizeof *peers);
    for (size_t i = 0; i < (size_t)k->setup.slots * 2; i++)
        clear_slot(slot_at(k, (size_t)place * k->setup.slots * 2 + i), job);
}

static void set_peer(const switch_state *s, uint32_t place, uint32_t worker, bpf_peer *peer)
{
    const net_address at = ti_net_unpack(ti_aggregate_address(s->a, place, worker));
    if (peer->ip == at.v4.sin_addr.s_addr && peer->port == at.v4.sin_port) return;
    *peer = (bpf_peer){.port = at.v4.sin_port};
    __atomic_store_n(&peer->ip, at.v4.sin_addr.s_addr, __ATOMIC_RELEASE);
}

/* A program that looks at a place while it changes finds it empty. */
static void tell_place(const switch_state *s, uint32_t i)
{
    const in_kernel *k = s->own;
    const agg_job job = ti_aggregate_job(s->a, i);
    bpf_place *p = (bpf_place *)k->places.memory + i;
    if (p->taken && (!job.taken || p->job != job.job)) __atomic_store_n(&p->taken, 0, __ATOMIC_SEQ_CST);
    if (!job.taken) return;
    if (!p->taken) {
        clear_place(k, i, job.job);
        p->job = job.job;
    }
    for (uint32_t w = 0; w < k->setup.workers; w++)
        if (ti_aggregate_has_joined(s->a, i, w))
            set_peer(s, i, w, (bpf_peer *)k->peers.memory + (size_t)i * k->setup.workers + w);
    p->datagram = job.datagram;
    p->left = job.left;
    p->ready = job.ready;
    __atomic_store_n(&p->taken, 1, __ATOMIC_SEQ_CST);
}

static void after(switch_state *s)
{
    for (uint32_t i = 0; i < s->shape.jobs; i++) tell_place(s, i);
}

/* When a worker was last heard, the program knows. */
static void before(switch_state *s)
{
    const in_kernel *k = s->own;
    for (uint32_t i = 0; i < s->shape.jobs; i++) {
        const bpf_place *p = (const bpf_place *)k->places.memory + i;
        if (p->taken && p->heard) ti_aggregate_hear(s->a, i, p->heard);
    }
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static uint32_t power_from(uint32_t least)
{
    uint32_t power = 1;
    while (power < least) power *= 2;
    return power;
}

static void choose_shape(switch_state *s, in_kernel *k)
{
    agg_shape *shape = &s->shape;
    shape->elsewhere = true;
    if (shape->datagram > BPF_DATAGRAM) shape->datagram = BPF_DATAGRAM;
    shape->values = packet_room(shape->datagram, seal_bytes(&s->seal), 8);
    if (!s->options->slots) {
        shape->slots = 4;
        while (2 * shape->slots * shape->workers <= IN_FLIGHT) shape->slots *= 2;
    }
    k->setup = (bpf_setup){.workers = shape->workers,
                           .slots = shape->slots,
                           .jobs = shape->jobs,
                           .values = shape->values,
                           .datagram = shape->datagram,
                           .block_mask = power_from((shape->values + 7) / 8) - 1,
                           .ip = s->at.v4.sin_addr.s_addr,
                           .port = s->at.v4.sin_port,
                           .tag = (uint16_t)seal_bytes(&s->seal),
                           .key = {get_u64(s->seal.key), get_u64(s->seal.key + 8)}};
    k->slot_bytes = (sizeof(bpf_slot) + (k->setup.block_mask + 1) * 8 * sizeof(uint32_t) + 7) / 8 * 8;
}

static int resize(const in_kernel *k, const char *name, size_t entries)
{
    struct bpf_map *map = bpf_object__find_map_by_name(k->object, name);
    return map && entries <= UINT32_MAX ? bpf_map__set_max_entries(map, (uint32_t)entries) : -1;
}

static int set_up(const in_kernel *k)
{
    struct bpf_map *map;
    int wrong = resize(k, "places", k->setup.jobs) |
                resize(k, "peers", (size_t)k->setup.jobs * k->setup.workers) |
                resize(k, "slots", (size_t)k->setup.jobs * k->setup.slots * 2);
    wrong |=
        bpf_map__set_value_size(bpf_object__find_map_by_name(k->object, "slots"), (uint32_t)k->slot_bytes);
    bpf_object__for_each_map(map, k->object) if (strstr(bpf_map__name(map), ".rodata")) wrong |=
        bpf_map__set_initial_value(map, &k->setup, sizeof k->setup);
    return wrong;
}

static tithe_status load(in_kernel *k, tithe_error *error)
{
    const struct bpf_object_open_opts named = {.sz = sizeof named, .object_name = "tithe_switch"};
    const libbpf_print_fn_t said = libbpf_set_print(NULL); /* it would print */
    k->object = bpf_object__open_mem(switch_program, (size_t)switch_program_bytes, &named);
    int wrong = k->object ? set_up(k) : -errno;
    if (!wrong) wrong = bpf_object__load(k->object);
    libbpf_set_print(said);
    if (wrong)
        return ti_fail(
            error, TITHE_E_FILE, 0,
            "The kernel does not take the program of the switch (%s): it needs Linux 5.17 or later, and "
            "memory for %u jobs with %u slots; or take `backend` udp.",
            strerror(wrong < 0 ? -wrong : wrong), k->setup.jobs, k->setup.slots);
    k->program = bpf_program__fd(bpf_object__find_program_by_name(k->object, "add_parts"));
    k->counts = bpf_map__fd(bpf_object__find_map_by_name(k->object, "counts"));
    if (!map_shared(k, "places", sizeof(bpf_place), &k->places) ||
        !map_shared(k, "peers", sizeof(bpf_peer), &k->peers) ||
        !map_shared(k, "slots", k->slot_bytes, &k->slots))
        return ti_fail(error, TITHE_E_MEMORY, 0, "The memory of the switch in the kernel cannot be seen: %s.",
                       strerror(errno));
    return TITHE_OK;
}

/* ---- where packets come in --------------------------------------------------------------------------------------- */

static unsigned interface_of(const net_address *at)
{
    struct ifaddrs *all = NULL;
    unsigned found = 0;
    if (getifaddrs(&all)) return 0;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
            ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr ==
                at->v4.sin_addr.s_addr)
            found = if_nametoindex(i->ifa_name);
    freeifaddrs(all);
    return found;
}

/* By a link, which ends with this process however it ends; before Linux 6.6 by a filter, in place of one that was left behind. */
static int attach_at(in_kernel *k, unsigned i, unsigned interface)
{
    k->links[i] = bpf_link_create(k->program, (int)interface, (enum bpf_attach_type)TCX_INGRESS, NULL);
    if (k->links[i] >= 0) return 0;
    struct bpf_tc_hook hook = {.sz = sizeof hook, .ifindex = (int)interface, .attach_point = BPF_TC_INGRESS};
    struct bpf_tc_opts filter = {.sz = sizeof filter,
                                 .prog_fd = k->program,
                                 .handle = k->setup.port,
                                 .priority = PRIORITY,
                                 .flags = BPF_TC_F_REPLACE};
    const libbpf_print_fn_t said = libbpf_set_print(NULL);
    int wrong = bpf_tc_hook_create(&hook);
    if (!wrong || wrong == -EEXIST) wrong = bpf_tc_attach(&hook, &filter);
    libbpf_set_print(said);
    if (!wrong) k->filters[i] = hook;
    return wrong;
}

static tithe_status attach(switch_state *s, in_kernel *k, tithe_error *error)
{
    char text[NET_TEXT];
    const unsigned own = interface_of(&s->at), loopback = if_nametoindex("lo");
    ti_net_write(&s->at, text);
    if (!own && !ti_net_is_loopback(&s->at))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "No interface has the address %s, where the backend 'bpf' would add: name the address "
                       "of one, or take "
                       "`backend` udp.",
                       text);
    const unsigned interfaces[INTERFACES] = {own ? own : loopback, own == loopback ? 0 : loopback};
    for (unsigned i = 0; i < INTERFACES; i++) {
        const int wrong = interfaces[i] ? attach_at(k, i, interfaces[i]) : 0;
        if (wrong)
            return ti_fail(error, TITHE_E_FILE, 0,
                           "The program of the switch cannot be attached where packets for %s come in (%s): "
                           "take `backend` udp.",
                           text, strerror(-wrong));
    }
    return TITHE_OK;
}

static void detach(in_kernel *k)
{
    for (unsigned i = 0; i < INTERFACES; i++) {
        if (k->links[i] >= 0) close(k->links[i]);
        if (!k->filters[i].ifindex) continue;
        struct bpf_tc_opts filter = {.sz = sizeof filter, .handle = k->setup.port, .priority = PRIORITY};
        bpf_tc_detach(&k->filters[i], &filter);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void unmap(const shared *m)
{
    if (m->memory) munmap(m->memory, m->bytes);
}

static void close_kernel(in_kernel *k)
{
    detach(k);
    unmap(&k->places);
    unmap(&k->peers);
    unmap(&k->slots);
    bpf_object__close(k->object);
}

/* What every processor has counted. */
static void count(const in_kernel *k, tithe_switch_counts *counts)
{
    const int processors = libbpf_num_possible_cpus();
    bpf_counts *all = processors > 0 ? calloc((size_t)processors, sizeof *all) : NULL;
    const uint32_t zero = 0;
    if (all && k->counts >= 0 && bpf_map_lookup_elem(k->counts, &zero, all) == 0)
        for (int p = 0; p < processors; p++) {
            counts->packets += all[p].packets;
            counts->aggregated += all[p].aggregated;
            counts->retransmitted += all[p].retransmitted;
            for (unsigned r = 1; r < AGG_REASONS; r++) {
                counts->reasons[r] += all[p].dropped[r];
                counts->dropped += all[p].dropped[r];
            }
        }
    free(all);
}

static tithe_status serve(const tithe_switch_options *options, tithe_switch_counts *counts,
                          tithe_error *error)
{
    switch_state s;
    in_kernel k = {.links = {-1, -1}, .counts = -1};
    tithe_switch_counts seen = {.size = sizeof seen};
    tithe_status status = ti_switch_open(&s, options, error);
    if (!status && s.at.any.sa_family != AF_INET)
        status =
            ti_fail(error, TITHE_E_ARGUMENT, 0,
                    "The backend 'bpf' knows IPv4 alone: listen at such an address, or take `backend` udp.");
    if (!status) {
        s.own = &k;
        s.before = before;
        s.after = after;
        choose_shape(&s, &k);
        status = ti_switch_start(&s, error);
    }
    if (!status) status = load(&k, error);
    if (!status) status = attach(&s, &k, error);
    if (!status) status = ti_switch_run(&s, error);
    detach(&k);
    memset(k.filters, 0, sizeof k.filters);
    for (unsigned i = 0; i < INTERFACES; i++) k.links[i] = -1;
    ti_switch_count(&s, &seen);
    count(&k, &seen);
    if (counts) sized_copy(counts, &seen);
    close_kernel(&k);
    ti_switch_close(&s);
    return status;
}

#else

static const char *refuse(const tithe_switch_options *o)
{
    (void)o;
    return "This tithe was built without bpf: install clang and libbpf-dev and build it again, or take "
           "`backend` udp.";
}

static tithe_status serve(const tithe_switch_options *options, tithe_switch_counts *counts,
                          tithe_error *error)
{
    (void)counts;
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s", refuse(options));
}

#endif

const tithe_switch_backend ti_switch_bpf = {
    .name = "bpf",
    .summary = "a program in the kernel, where packets come in: Linux, IPv4, and the rights to load it",
    .refuse = refuse,
    .serve = serve,
};
