// Export macro of the shared library: only symbols marked with it are visible to programs.
#pragma once

// On declarations only. The library itself is compiled with hidden symbols, so that it never meets
// another copy of what it is made of inside somebody's program.
#define GCOORD_API __attribute__((visibility("default")))

// What stands inside a class marked so, but is the library's own.
#define GCOORD_HIDDEN __attribute__((visibility("hidden")))
