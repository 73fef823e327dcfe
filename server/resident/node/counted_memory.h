// A device's memory whose calls pass DeviceCalls: counted, failed on purpose by a plan, and none
// made after the first failure.
//
// A copy that fails is the device's failure, and the node stops. Whether memory was there, and
// whether what a peer sent could be mapped, is for the caller to judge: a peer must not end a node.
// One thread; `calls` outlives it.
#pragma once

#include "common/device/device_calls.h"
#include "netcore/memory/registry.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace gcoord::server {

class CountedMemory final : public netcore::MemorySource {
 public:
  CountedMemory(std::unique_ptr<netcore::MemorySource> memory, DeviceCalls& calls)
      : memory_(std::move(memory)), calls_(calls) {}

  std::string name() const override { return memory_->name(); }

  Result<netcore::MemoryRange> allocate(netcore::MemoryKind kind, std::size_t bytes) override;
  Result<netcore::MemoryRange> import(int fd, std::size_t bytes) override;
  void release(const netcore::MemoryRange& range) override;
  Status write(std::byte* to, std::span<const std::byte> from) override;
  Status store_word(std::uint64_t* to, std::uint64_t value) override;
  Status read(std::span<std::byte> to, const std::byte* from) override;
  Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) override;

 private:
  std::unique_ptr<netcore::MemorySource> memory_;
  DeviceCalls& calls_;
};

}  // namespace gcoord::server
