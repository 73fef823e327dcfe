// A build without CUDA: every door says so.
#include "netcore/device/gpu_device.h"

namespace gcoord::netcore {
namespace {

Status absent() {
  return {StatusCode::Unavailable,
          "this build has no CUDA; configure with the preset cuda to use a GPU"};
}

}  // namespace

Result<std::uint32_t> gpu_count() {
  return absent();
}

Result<GpuFacts> gpu_facts(std::uint32_t /*index*/) {
  return absent();
}

Result<std::uint32_t> gpu_by_uuid(const std::array<std::uint8_t, 16>& /*uuid*/) {
  return absent();
}

Status gpu_reaches(std::uint32_t /*device*/, std::uint32_t /*peer*/) {
  return absent();
}

Status gpu_atomics_reach(std::uint32_t /*device*/, std::uint32_t /*peer*/) {
  return absent();
}

Status gpu_host_atomics(std::uint32_t /*device*/) {
  return absent();
}

Status close_gpu_context(std::uint32_t /*index*/) {
  return absent();
}

Result<std::unique_ptr<MemorySource>> make_gpu_memory(std::uint32_t /*index*/) {
  return absent();
}

}  // namespace gcoord::netcore
