// Annotations for code that is written once and runs on the host and on a device.
// This is the only folder that may look at the compiler in use.
#pragma once

#if defined(__CUDACC__)
#define GCOORD_HD __host__ __device__
#define GCOORD_DEVICE __device__
#else
#define GCOORD_HD
#define GCOORD_DEVICE
#endif
