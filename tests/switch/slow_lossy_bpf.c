/* slow_lossy_bpf.c - a million packets, of which some are lost (million.h), to the backend 'bpf'. */
#include "switch/million.h"

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_packets)};
    const int skipped = backend_take("bpf");
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
