// The views of one group as they come: a look at the leader, then look after look for what changed.
//
// Each answer is the whole view or the changes since the one before; the feed puts views together
// and hands them on one by one. Thread-safe, but for next(), of which there is one call at a time.
#pragma once

#include "client/core/calls.h"
#include "client/core/core.h"
#include "gcoord/group.h"
#include "protocol/groups/messages.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace gcoord::client {

class GroupFeed : public std::enable_shared_from_this<GroupFeed> {
 public:
  using ViewCallback = std::function<void(const Result<GroupView>&)>;

  GroupFeed(std::shared_ptr<Core> core, std::string_view name)
      : core_(std::move(core)), name_(name) {}

  Core& core() const { return *core_; }

  void now(Callback<Result<GroupView>> callback);
  void next(std::chrono::milliseconds wait, Callback<Result<GroupView>> callback);

  void begin(ViewCallback callback);
  void stop();

 private:
  // The view that was put together last: what the next look asks after.
  struct Known {
    std::uint64_t epoch = 0;
    std::uint32_t member_count = 0;
    std::chrono::milliseconds wait{0};
  };

  void look(const Known& known, Callback<Result<protocol::GroupAnswer>> callback);
  void take(const protocol::GroupAnswer& answer);
  void next_until(TimePoint until, const Callback<Result<GroupView>>& callback);
  void go_on();
  void on_answer(const Result<protocol::GroupAnswer>& answer);

  const std::shared_ptr<Core> core_;
  const std::string name_;
  std::mutex mutex_;  // Guards what follows.
  GroupView view_;    // The newest.
  bool seen_ = false;
  std::deque<GroupView> ready_;
  ViewCallback callback_;
  bool stopped_ = false;
};

}  // namespace gcoord::client
