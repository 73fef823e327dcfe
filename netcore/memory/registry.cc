#include "netcore/memory/registry.h"

#include <utility>

namespace gcoord::netcore {

std::string_view memory_kind_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Private:
      return "private";
    case MemoryKind::Shared:
      return "shared";
    case MemoryKind::Pinned:
      return "pinned";
    case MemoryKind::Imported:
      return "imported";
  }
  return "unknown";
}

MemoryRegistry::MemoryRegistry(std::unique_ptr<MemorySource> source) : source_(std::move(source)) {}

MemoryRegistry::~MemoryRegistry() {
  for (const auto& [id, range] : ranges_) {
    source_->release(range);
  }
}

Result<MemoryRange> MemoryRegistry::allocate(MemoryKind kind, std::size_t bytes) {
  GCOORD_ASSERT(kind != MemoryKind::Imported);
  GCOORD_ASSERT(bytes != 0);
  return keep(source_->allocate(kind, bytes));
}

Result<MemoryRange> MemoryRegistry::import(int fd, std::size_t bytes) {
  return keep(source_->import(fd, bytes));
}

Result<MemoryRange> MemoryRegistry::keep(Result<MemoryRange> range) {
  if (range.ok()) {
    range.value().id = MemoryRangeId{next_id_++};
    ranges_.emplace(range.value().id, range.value());
  }
  return range;
}

void MemoryRegistry::release(MemoryRangeId id) {
  const auto found = ranges_.find(id);
  if (found != ranges_.end()) {
    source_->release(found->second);
    ranges_.erase(found);
  }
}

std::vector<MemoryRange> MemoryRegistry::ranges() const {
  std::vector<MemoryRange> all;
  for (const auto& [id, range] : ranges_) {
    all.push_back(range);
  }
  return all;
}

std::size_t MemoryRegistry::bytes_of(MemoryKind kind) const {
  std::size_t bytes = 0;
  for (const auto& [id, range] : ranges_) {
    bytes += range.kind == kind ? range.bytes : 0;
  }
  return bytes;
}

}  // namespace gcoord::netcore
