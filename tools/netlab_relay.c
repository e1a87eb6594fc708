/* netlab_relay.c - a switch that holds every frame for a while: latency where the kernel has no netem.
 *
 * usage: netlab_relay MICROSECONDS TAP...      (in the namespace of the switch; tools/netlab starts it)
 *
 * A frame that is read from one TAP is written to the TAP behind which its destination was last seen, or to all others,
 * when its time has come. Frames of all ports wait in one line, since all wait equally long. */
#define _GNU_SOURCE /* ppoll */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PORTS = 64, MAX_FRAME = 2048, SLOTS = 32768, MAX_ADDRESSES = 256 };

typedef struct frame {
    int64_t due; /* nanoseconds */
    int from;
    int length;
    uint8_t bytes[MAX_FRAME];
} frame;

typedef struct address {
    uint8_t mac[6];
    int port;
} address;

static int ports[MAX_PORTS], port_count;
static frame *line;
static unsigned head, waiting;
static address addresses[MAX_ADDRESSES];
static int address_count;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_tap(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    const int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (file < 0 || ioctl(file, TUNSETIFF, &request) != 0) {
        perror(name);
        exit(2);
    }
    return file;
}

static int port_of(const uint8_t *mac)
{
    for (int i = 0; i < address_count; i++)
        if (memcmp(addresses[i].mac, mac, 6) == 0) return addresses[i].port;
    return -1;
}

static void learn(const uint8_t *mac, int port)
{
    for (int i = 0; i < address_count; i++)
        if (memcmp(addresses[i].mac, mac, 6) == 0) {
            addresses[i].port = port;
            return;
        }
    if (address_count == MAX_ADDRESSES) return;
    memcpy(addresses[address_count].mac, mac, 6);
    addresses[address_count++].port = port;
}

/* False: there is nothing more to read, or no room. */
static bool take_frame(int port, int64_t delay)
{
    if (waiting == SLOTS) return false;
    frame *f = &line[(head + waiting) % SLOTS];
    f->length = (int)read(ports[port], f->bytes, MAX_FRAME);
    if (f->length < 14) return false;
    f->due = now() + delay;
    f->from = port;
    learn(f->bytes + 6, port);
    waiting++;
    return true;
}

static void send_frame(const frame *f)
{
    const int to = port_of(f->bytes);
    for (int p = 0; p < port_count; p++)
        if (p != f->from && (to < 0 || to == p) && write(ports[p], f->bytes, (size_t)f->length) < 0)
            continue; /* full: lost */
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc - 2 > MAX_PORTS) {
        fprintf(stderr, "usage: netlab_relay MICROSECONDS TAP TAP...\n");
        return 2;
    }
    const int64_t delay = (int64_t)(atof(argv[1]) * 1000);
    line = malloc(SLOTS * sizeof *line);
    if (!line) return 2;
    prctl(PR_SET_TIMERSLACK, 1);
    /* Ahead of the programs that it serves, which may keep every core busy: otherwise their load would be its latency. */
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 10});
    for (int i = 2; i < argc; i++) ports[port_count++] = open_tap(argv[i]);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct pollfd files[MAX_PORTS];
        for (int p = 0; p < port_count; p++) files[p] = (struct pollfd){.fd = ports[p], .events = POLLIN};
        struct timespec wait = {0}, *until = NULL;
        if (waiting) {
            const int64_t left = line[head].due - now();
            wait.tv_sec = left > 0 ? left / 1000000000 : 0;
            wait.tv_nsec = left > 0 ? left % 1000000000 : 0;
            until = &wait;
        }
        if (ppoll(files, (nfds_t)port_count, until, NULL) > 0)
            for (int p = 0; p < port_count; p++)
                while (files[p].revents & POLLIN && take_frame(p, delay)) {
                }
        while (waiting && line[head].due <= now()) {
            send_frame(&line[head]);
            head = (head + 1) % SLOTS;
            waiting--;
        }
    }
}
