/* seal.c - see seal.h. */
#include "switch/seal.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { LEAST_SECRET = 16, MOST_SECRET = 1 << 16 };
_Static_assert(PACKET_TAG == crypto_shorthash_siphashx24_BYTES, "a tag is what SipHash gives");
_Static_assert(sizeof((seal){0}.key) == crypto_shorthash_siphashx24_KEYBYTES, "and its key what it takes");

tithe_status ti_seal_open(seal *s, const char *path, tithe_error *error)
{
    uint8_t secret[MOST_SECRET + 1];
    *s = (seal){0};
    if (!path) return TITHE_OK;
    if (sodium_init() < 0) return ti_fail(error, TITHE_E_FILE, 0, "libsodium cannot be used here.");
    FILE *file = fopen(path, "rb");
    if (!file)
        return ti_fail(error, TITHE_E_FILE, 0, "The key '%.80s' cannot be read: %s.", path, strerror(errno));
    const size_t length = fread(secret, 1, sizeof secret, file);
    fclose(file);
    if (length < LEAST_SECRET || length > MOST_SECRET)
        return ti_fail(error, TITHE_E_DATA, 0,
                       "The key '%.80s' has %s bytes: make one with `head -c 32 /dev/urandom`.", path,
                       length < LEAST_SECRET ? "fewer than 16" : "more than 65536");
    crypto_generichash(s->key, sizeof s->key, secret, length, NULL, 0);
    sodium_memzero(secret, sizeof secret);
    s->keyed = true;
    return TITHE_OK;
}

void ti_seal_close(seal *s)
{
    if (s->keyed) sodium_memzero(s->key, sizeof s->key);
    s->keyed = false;
}

size_t ti_seal_close_packet(const seal *s, uint8_t *packet, size_t length)
{
    if (!s->keyed) return length;
    crypto_shorthash_siphashx24(packet + length, packet, length, s->key);
    return length + PACKET_TAG;
}

bool ti_seal_check(const seal *s, const uint8_t *packet, size_t *length)
{
    uint8_t tag[PACKET_TAG];
    if (!s->keyed) return true;
    if (*length < PACKET_TAG) return false;
    *length -= PACKET_TAG;
    crypto_shorthash_siphashx24(tag, packet, *length, s->key);
    return sodium_memcmp(tag, packet + *length, sizeof tag) == 0;
}
