// A CUDA runtime for tests of those who call it, without a device: what it was asked for, and the
// answers of a device that is full or dead.
//
// A program that links it links no other; a call that nobody made here so far is missing then.
// Memory of the "device" is memory of the host. As the real one it remembers an error, and "not
// ready", until somebody asks for it. One thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>

namespace gcoord {

struct StubCuda {
  bool full = false;  // No memory is left, of neither kind.
  bool dead = false;  // Nothing that it is asked for ends.

  std::map<const void*, std::size_t> locked;  // Page-locked memory.
  cudaError_t last_error = cudaSuccess;
  bool asked_before = false;        // Whether work is done is said at the second time.
  std::size_t reservations = 0;     // Of memory, of both kinds.
  std::size_t given_back = 0;       // The same; and of streams and events.
  std::size_t pageable_copies = 0;  // Between a device and memory that is not page-locked.
  std::size_t copy_bytes_longest = 0;
};

// The one of this program.
StubCuda& stub_cuda();

}  // namespace gcoord
