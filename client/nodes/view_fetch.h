// Questions of a client about the cluster's newest view: when one is due, and what answers it.
//
// It asks one node at a time: at once when a node is or may be known to have a newer view, and now
// and then while sessions are renewed by earlier views too. Pure: time is an argument. One thread.
#pragma once

#include "client/net/time_never.h"
#include "client/nodes/known_view.h"
#include "common/ids.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::client {

class ViewFetch {
 public:
  // Of one node; then another one is asked.
  explicit ViewFetch(TimePoint patience) : patience_(patience) {}

  // Whether it is time to ask.
  bool due(const KnownView& known, TimePoint now) const { return now >= next_event(known); }

  // When; kTimeNever while there is nothing to ask.
  TimePoint next_event(const KnownView& known) const;

  // The question, with a request id that no operation has.
  protocol::RequestSlot ask(NodeId node, TimePoint now);
  static std::vector<std::byte> payload();

  // Nobody can be asked now.
  void put_off(TimePoint now) { next_ = now + kPause; }

  // Whether the reply is to the newest question; it is over then.
  bool take(NodeId node, const protocol::ReplySlot& slot, TimePoint now);

 private:
  // Between two questions, where the first was not answered with what was wanted.
  static constexpr TimePoint kPause = std::chrono::milliseconds{50};
  // Between two questions about earlier views: nodes tell each other about once a second.
  static constexpr TimePoint kEarlierPause = std::chrono::milliseconds{500};

  TimePoint patience_;
  NodeId asked_;  // 0: no question is under way.
  std::uint64_t request_id_ = 0;
  std::uint64_t number_last_ = 0;
  TimePoint next_{};  // Of the next question, or when the one under way has taken too long.
  TimePoint answered_{};
};

}  // namespace gcoord::client
