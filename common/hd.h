// Annotations for code that is written once and runs on the host and on a device.
// This is the only folder that may look at the compiler in use.
#pragma once

#if defined(__CUDACC__)
#define GCOORD_HD __host__ __device__
#define GCOORD_DEVICE __device__
// For a function over a whole row: its locals become registers only where it is inlined.
#define GCOORD_HD_FLAT __host__ __device__ __forceinline__
// For what is seldom needed beside what is needed all the time: it stays out of the caller's code,
// and what it is given by value does not pull the caller's variables out of their registers.
#define GCOORD_HD_APART inline __host__ __device__ __noinline__
#else
#define GCOORD_HD
#define GCOORD_DEVICE
#define GCOORD_HD_FLAT inline
#define GCOORD_HD_APART inline
#endif

// Before a loop over the slots of a row: on a device its iterations become straight code, so that
// what they index lies in registers. Hosts decide for themselves.
#if defined(__CUDA_ARCH__)
#define GCOORD_UNROLL _Pragma("unroll")
#else
#define GCOORD_UNROLL
#endif

// The same for at most so many iterations at a time, a constant expression. 1 leaves a loop a loop:
// right before one with a large bound that hardly ever runs far, since copies of its body would
// crowd the instruction cache.
#if defined(__CUDA_ARCH__)
#define GCOORD_PRAGMA(text) _Pragma(#text)
#define GCOORD_UNROLL_BY(count) GCOORD_PRAGMA(unroll(count))
#else
#define GCOORD_UNROLL_BY(count)
#endif

namespace gcoord {

// Whether short arrays are better read by comparing every index than by indexing: on a device,
// where they then stay in registers.
#if defined(__CUDA_ARCH__)
inline constexpr bool kIndexBySelection = true;
#else
inline constexpr bool kIndexBySelection = false;
#endif

}  // namespace gcoord
