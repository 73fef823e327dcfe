#include "server/resident/node/counted_memory.h"

namespace gcoord::server {

Result<netcore::MemoryRange> CountedMemory::allocate(netcore::MemoryKind kind, std::size_t bytes) {
  GCOORD_TRY_STATUS(calls_.make("allocating memory", [] { return Status{}; }));
  return memory_->allocate(kind, bytes);
}

Result<netcore::MemoryRange> CountedMemory::import(int fd, std::size_t bytes) {
  GCOORD_TRY_STATUS(calls_.make("mapping a peer's memory", [] { return Status{}; }));
  return memory_->import(fd, bytes);
}

// Gives back whatever happened: a source whose device does not answer keeps it by itself.
void CountedMemory::release(const netcore::MemoryRange& range) {
  memory_->release(range);
}

Status CountedMemory::write(std::byte* to, std::span<const std::byte> from) {
  return calls_.make("copying to the device", [&] { return memory_->write(to, from); });
}

Status CountedMemory::store_word(std::uint64_t* to, std::uint64_t value) {
  return calls_.make("storing a word on the device",
                     [&] { return memory_->store_word(to, value); });
}

Status CountedMemory::read(std::span<std::byte> to, const std::byte* from) {
  return calls_.make("copying from the device", [&] { return memory_->read(to, from); });
}

Status CountedMemory::copy_within(std::byte* to, const std::byte* from, std::size_t bytes) {
  return calls_.make("copying on the device",
                     [&] { return memory_->copy_within(to, from, bytes); });
}

}  // namespace gcoord::server
