/* test_bpf.c - a switch that is a program in the kernel: cases.h has what holds of it. */
#include "switch/cases.h"

int main(void)
{
    const struct CMUnitTest tests[] = {SWITCH_CASES};
    const int skipped = backend_take("bpf");
    return skipped ? skipped : cmocka_run_group_tests(tests, NULL, NULL);
}
