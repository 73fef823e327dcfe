// What fake nodes say to watches.
#pragma once

#include "protocol/lock_messages.h"
#include "protocol/watch_messages.h"
#include "tests/client/fake_cluster.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::client {

// Where all happens.
inline constexpr ShardId kShard{3};

// What a watch is told under the id of its WatchOpen.
inline FakeReply told(std::uint64_t request_id, const std::vector<std::byte>& payload) {
  protocol::RequestSlot open;
  open.kind = protocol::RequestKind::WatchOpen;
  open.request_id = request_id;
  return {.slot = protocol::reply_to(open), .payload = std::string{protocol::text_of(payload)}};
}

inline FakeReply progress(std::uint64_t request_id, std::uint64_t revision) {
  return told(
      request_id,
      protocol::encode_watch_progress({.last = true, .revisions = {{kShard, LogIndex{revision}}}}));
}

inline FakeReply granted(std::uint64_t request_id, std::uint64_t revision) {
  std::vector<std::byte> payload;
  protocol::begin_watch_events(payload);
  protocol::append_watch_block(
      payload,
      {kShard,
       LogIndex{revision},
       {{protocol::WatchEventKind::Granted, "a", FencingToken{1}, SessionId{5}, {}}}});
  return told(request_id, payload);
}

// What a node says to a WatchProgress: that it took it, and then how far it is.
inline FakeReply answer_to(const FakeRequest& request, std::uint64_t revision) {
  FakeReply taken = ok_reply(request);
  taken.then = {progress(request.slot.sequence, revision)};
  return taken;
}

// Watches begin at revision 5, and are told `behind` that; `ask` answers who asks how far it is.
inline FakeCluster::Answer watches(
    std::function<std::vector<FakeReply>(std::uint64_t request_id)> behind,
    FakeCluster::Answer ask) {
  return [behind = std::move(behind),
          ask = std::move(ask)](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == protocol::RequestKind::WatchProgress) {
      return ask(request);
    }
    if (request.slot.kind != protocol::RequestKind::WatchOpen) {
      return friendly_reply(request);
    }
    FakeReply begun = progress(request.slot.request_id, 5);
    if (behind) {
      begun.then = behind(request.slot.request_id);
    }
    return begun;
  };
}

}  // namespace gcoord::client
