#include "server/watch/record.h"

#include "common/assert.h"
#include "protocol/limits.h"

#include <utility>

namespace gcoord::server {
namespace {

std::size_t memory_bytes(const std::shared_ptr<const WatchMove>& move) {
  return move ? sizeof *move + move->name.capacity() : 0;
}

}  // namespace

WatchChange::WatchChange(protocol::WatchEventKind change,
                         std::string of,
                         FencingToken hold,
                         SessionId by,
                         std::string_view value,
                         std::string_view before)
    : kind(change),
      value_bytes(static_cast<std::uint16_t>(value.size())),
      name(std::move(of)),
      token(hold),
      session(by) {
  GCOORD_ASSERT(value.size() <= protocol::kNoteBytesMax &&
                before.size() <= protocol::kNoteBytesMax);
  notes.reserve(value.size() + before.size());
  notes += value;
  notes += before;
}

std::size_t memory_bytes(const WatchRecord& record) {
  std::size_t bytes = sizeof record + memory_bytes(record.move);
  for (const WatchChange& change : record.changes) {
    bytes += sizeof change + change.name.capacity() + change.notes.capacity();
  }
  return bytes;
}

std::size_t memory_bytes(const WatchNotice& told) {
  std::size_t bytes = sizeof told + memory_bytes(told.move);
  for (const protocol::WatchEvent& event : told.events) {
    bytes += sizeof event + event.name.capacity() + event.value.capacity() +
             event.previous.value.capacity();
  }
  return bytes;
}

}  // namespace gcoord::server
