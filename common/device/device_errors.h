// The stable numbers of device failures, printed to operators as GC7001 and documented for scripts.
// Never renumber. A Status about a device that an operator asked for carries exactly one of them in
// `detail` (protocol/error_codes.h has the whole table).
#pragma once

#include <cstdint>

namespace gcoord {

// A device that was asked for by name and cannot be used.
inline constexpr std::uint32_t kDeviceBuild = 7001;   // This build has no CUDA.
inline constexpr std::uint32_t kDeviceAbsent = 7002;  // No driver, or no such device.
inline constexpr std::uint32_t kDeviceMemory = 7003;  // Too little memory is free.
inline constexpr std::uint32_t kDeviceBusy = 7004;    // Another process has it for itself.

// A device that failed while it was in use: the node stops.
inline constexpr std::uint32_t kDeviceFailed = 7101;     // A call to it answered with an error.
inline constexpr std::uint32_t kDeviceOverrun = 7102;    // A kernel did not end in time.
inline constexpr std::uint32_t kDeviceExhausted = 7103;  // A pool in its memory is full.
inline constexpr std::uint32_t kDeviceDiffers = 7104;    // Its memory or its steps are not right.

// Whether the number says that a device in use failed.
constexpr bool is_device_fault(std::uint32_t detail) {
  return detail >= kDeviceFailed && detail <= kDeviceDiffers;
}

}  // namespace gcoord
