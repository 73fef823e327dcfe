#include "client/nodes/view_fetch.h"

#include "protocol/members/view_messages.h"

#include <algorithm>

namespace gcoord::client {

namespace {

// The lower half of every id of a question; operations number their places from 0 on.
constexpr std::uint64_t kQuestion = 0xffff'ffff;

}  // namespace

TimePoint ViewFetch::next_event(const KnownView& known) const {
  if (known.behind() || known.wanted()) {
    return next_;
  }
  return known.has_earlier() ? std::max(next_, answered_ + kEarlierPause) : kTimeNever;
}

protocol::RequestSlot ViewFetch::ask(NodeId node, TimePoint now) {
  asked_ = node;
  request_id_ = ++number_last_ << 32 | kQuestion;
  next_ = now + patience_;
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::ViewGet;
  slot.request_id = request_id_;
  return slot;
}

std::vector<std::byte> ViewFetch::payload() {
  return protocol::encode_view_query({});
}

bool ViewFetch::take(NodeId node, const protocol::ReplySlot& slot, TimePoint now) {
  if (node != asked_ || slot.request_id != request_id_) {
    return false;
  }
  asked_ = NodeId{};
  request_id_ = 0;
  answered_ = now;
  next_ = now + kPause;
  return true;
}

}  // namespace gcoord::client
