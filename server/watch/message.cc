#include "server/watch/message.h"

namespace gcoord::server {

bool append_if_fits(std::vector<std::byte>& payload, const protocol::WatchBlock& block) {
  const std::size_t before = payload.size();
  protocol::append_watch_block(payload, block);
  const bool fits = payload.size() <= protocol::kPayloadBytesMax;
  payload.resize(fits ? payload.size() : before);
  return fits;
}

bool holds_events(const std::vector<std::byte>& payload) {
  static const std::size_t head_bytes = [] {
    std::vector<std::byte> head;
    protocol::begin_watch_events(head);
    return head.size();
  }();
  return payload.size() > head_bytes;
}

}  // namespace gcoord::server
