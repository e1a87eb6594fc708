/* test_udp.c - a switch that is a process that moves datagrams: cases.h has what holds of it. */
#include "switch/cases.h"

int main(void)
{
    const struct CMUnitTest tests[] = {SWITCH_CASES};
    const int skipped = backend_take("udp");
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
