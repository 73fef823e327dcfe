// The watches of a client, which share one feed.
#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/net/failure.h"
#include "client/watches/watch_feed.h"
#include "client/watches/watch_state.h"
#include "protocol/validate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {

// Under the lock, so that close() ends what was added. The feed is made for the first watch.
Status Client::Impl::Watches::feed(const std::shared_ptr<WatchState>& state) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return failure(protocol::ErrorCode::ClientClosed);
  }
  if (feed_ == nullptr) {
    std::vector<std::string> addresses;
    for (const NodeView& node : read_on_thread<ClusterView>(*core_, view_of).nodes) {
      if (!node.address.empty()) {
        addresses.push_back(node.address);
      }
    }
    WatchNodes known{std::move(addresses), core_->options().seed};
    known.set_login(core_->nodes().access().login);
    known.set_keyring({core_, &core_->nodes().access().keyring});
    feed_ = std::make_shared<WatchFeed>(core_->options(), std::move(known));
    feed_->start();
  }
  feed_->add(state);
  return {};
}

void Client::Impl::Watches::close() {
  std::shared_ptr<WatchFeed> feed;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    feed = feed_;
  }
  if (feed != nullptr) {
    feed->stop();
  }
}

bool Client::Impl::Watches::on_own_thread() {
  const std::lock_guard lock(mutex_);
  return feed_ != nullptr && feed_->on_own_thread();
}

Result<Watch> Client::Impl::Watches::open(WatchOptions options, Watch::Callback callback) {
  const int targets =
      (options.name.empty() ? 0 : 1) + (options.prefix ? 1 : 0) + (options.session_id != 0 ? 1 : 0);
  const bool from_sound = options.from_revision == 0 || !options.name.empty();
  if (targets != 1 || !from_sound) {
    return failure(protocol::ErrorCode::WatchInvalid);
  }
  if (!kinds_mask(options.kinds)) {
    return failure(protocol::ErrorCode::WatchInvalid, "unknown kinds of events");
  }
  if (const auto code = protocol::check_prefix(options.prefix.value_or(""));
      code != protocol::ErrorCode::None) {
    return failure(code);
  }
  if (core_->on_own_thread()) {
    return failure(protocol::ErrorCode::BlockedCallback);
  }
  const std::uint32_t shard_count = read_on_thread<ClusterView>(*core_, view_of).shard_count;
  const auto nowhere = [shard_count](const Revision& each) { return each.shard >= shard_count; };
  if (std::ranges::any_of(options.from, nowhere)) {
    return failure(protocol::ErrorCode::WatchInvalid);
  }
  const auto state = std::make_shared<WatchState>(std::move(options), std::move(callback));
  GCOORD_TRY_STATUS(feed(state));
  Watch watch{state};
  const Status begun = state->wait_started(core_->options().request_timeout);
  if (begun.ok()) {
    return watch;
  }
  const bool silent =
      begun.detail() == static_cast<std::uint32_t>(protocol::ErrorCode::Unreachable);
  const Status lacking = silent ? majority(*core_) : Status{};
  return lacking.ok() ? begun : lacking;
}

Result<Watch> Client::watch(WatchOptions options, Watch::Callback callback) {
  return impl_->watches()->open(std::move(options), std::move(callback));
}

}  // namespace gcoord::client
