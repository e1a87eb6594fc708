/* switches.c - see switches.h. */
#include "switches.h"

#include "transports.h"

#ifdef TITHE_HAS_SWITCH
#define NO_SWITCH NULL
#else
#define NO_SWITCH "This tithe was built without the switch: build it with -DTITHE_SWITCH=ON"
#endif

bool switch_load(switch_library *library)
{
    static const char *const names[] = {"tithe_switch_serve", "tithe_switch_attach", "tithe_switch_reason",
                                        "tithe_switch_bench"};
    void *const places[] = {&library->serve, &library->attach, &library->reason, &library->bench};
    for (int i = 0; i < 4; i++) {
        const transport_row row = {
            .name = "switch", .library = "libtithe_switch.so.0", .function = names[i], .missing = NO_SWITCH};
        if (!transport_load(&row, places[i])) return false;
    }
    return true;
}
