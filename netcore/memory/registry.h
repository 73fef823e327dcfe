// Every range of memory that a peer or a device may reach: who allocated it, and that it is given
// back.
//
// Channels live in memory of three kinds: private to a device, shared with peers through a file
// descriptor, pinned on the host for both sides. A MemorySource knows how to get them (one per kind
// of device; the host's stands in for a device in tests and on machines without one). The registry
// is the only caller of a source: it owns every range until `release`, so a mapping is never lost,
// never freed twice, and all of it can be counted. What is left at its end is released then.
//
// Contract: allocation and release may stop the calling thread for milliseconds and may stop a
// device's other work; they happen when a channel opens or ends, never in a turn. Release a range
// only when no kernel uses it any more: see GpuChannel::close. New memory is zeros. Host only, one
// thread, no exceptions.
#pragma once

#include "common/status.h"
#include "common/strong_id.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::netcore {

using MemoryRangeId = StrongId<struct MemoryRangeIdTag, std::uint64_t>;

enum class MemoryKind : std::uint8_t {
  Private,   // Of the device, for this process alone.
  Shared,    // Of the device; a peer process may map it through the range's descriptor.
  Pinned,    // Of the host; read and written by the device at the same address.
  Imported,  // A peer's Shared memory, mapped here.
};

std::string_view memory_kind_name(MemoryKind kind);

struct MemoryRange {
  MemoryRangeId id;  // 0: not in a registry.
  MemoryKind kind = MemoryKind::Private;
  std::byte* address = nullptr;  // As the device sees it; the host may only touch Pinned.
  std::size_t bytes = 0;         // As mapped: at least what was asked for.
  int fd = -1;                   // Of Shared memory, owned by the range.
  std::uint64_t source_key = 0;  // The source's own name for it.
};

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // "host" or "cuda:0".
  virtual std::string name() const = 0;
  // Zeroed memory of at least so many bytes; not Imported.
  virtual Result<MemoryRange> allocate(MemoryKind kind, std::size_t bytes) = 0;
  // Maps a peer's Shared memory. The descriptor stays the caller's. What is behind it was chosen by
  // the peer: a range that is too short is refused here, not met later as a fault.
  virtual Result<MemoryRange> import(int fd, std::size_t bytes) = 0;
  virtual void release(const MemoryRange& range) = 0;
  // Copies between host memory and a range, without waiting for kernels that run. A device that
  // does not answer ends them with DeadlineExceeded, and every later one at once.
  virtual Status write(std::byte* to, std::span<const std::byte> from) = 0;
  // One aligned word, whole, where kernels that run now may be looking at it.
  virtual Status store_word(std::uint64_t* to, std::uint64_t value) = 0;
  virtual Status read(std::span<std::byte> to, const std::byte* from) = 0;
  // Between two ranges that do not overlap, without passing the host.
  virtual Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
};

// Host memory for everything; Shared is a sealed memfd. For tests, and for channels between
// processes that use no device.
std::unique_ptr<MemorySource> make_host_memory();

class MemoryRegistry {
 public:
  explicit MemoryRegistry(std::unique_ptr<MemorySource> source);
  ~MemoryRegistry();
  MemoryRegistry(const MemoryRegistry&) = delete;
  MemoryRegistry& operator=(const MemoryRegistry&) = delete;

  MemorySource& source() { return *source_; }

  Result<MemoryRange> allocate(MemoryKind kind, std::size_t bytes);
  Result<MemoryRange> import(int fd, std::size_t bytes);
  // Unmaps and frees; a range that is not there is left alone.
  void release(MemoryRangeId id);

  // Everything that is registered now, oldest first.
  std::vector<MemoryRange> ranges() const;
  // Bytes of all ranges of one kind.
  std::size_t bytes_of(MemoryKind kind) const;

 private:
  Result<MemoryRange> keep(Result<MemoryRange> range);

  std::unique_ptr<MemorySource> source_;
  std::map<MemoryRangeId, MemoryRange> ranges_;
  std::uint64_t next_id_ = 1;
};

}  // namespace gcoord::netcore
