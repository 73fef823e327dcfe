// Export macro of the shared library: only symbols marked with it are visible to programs.
#pragma once

// On declarations only. The library itself is compiled with hidden symbols, so that its
// dependencies never meet other copies of themselves inside a program.
#define GCOORD_API __attribute__((visibility("default")))

// For internal members of a class that is marked GCOORD_API.
#define GCOORD_HIDDEN __attribute__((visibility("hidden")))
