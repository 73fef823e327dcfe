// Implementation of Client: the core, which outlives every call. See gcoord/client.h.
#pragma once

#include "client/core/core.h"
#include "client/core/watch_feed.h"
#include "gcoord/client.h"

#include <memory>
#include <mutex>
#include <utility>

namespace gcoord::client {

class GCOORD_HIDDEN Client::Impl {
 public:
  explicit Impl(ClientOptions options) : core_(std::make_shared<Core>(std::move(options))) {}

  ~Impl() {
    if (feed_ != nullptr) {
      feed_->stop();
    }
    core_->stop();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::shared_ptr<Core>& core() const { return core_; }

  Result<Watch> watch(WatchOptions options, Watch::Callback callback);

 private:
  WatchFeed& feed();

  std::mutex feed_mutex_;  // Guards feed_.
  std::shared_ptr<WatchFeed> feed_;
  std::shared_ptr<Core> core_;
};

}  // namespace gcoord::client
