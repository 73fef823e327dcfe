// Implementation of Client: the core, which outlives every call, and the watches. See
// gcoord/client.h.
#pragma once

#include "client/core/core.h"
#include "client/watches/watch_feed.h"
#include "client/watches/watch_state.h"
#include "gcoord/client.h"

#include <memory>
#include <mutex>
#include <utility>

namespace gcoord::client {

class GCOORD_HIDDEN Client::Impl {
 public:
  class Watches;

  explicit Impl(ClientOptions options);

  ~Impl() { close(); }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::shared_ptr<Core>& core() const { return core_; }

  const std::shared_ptr<Watches>& watches() const { return watches_; }

  // Not on a thread of the client's. Returns when it is closed, whoever began to.
  void close();

 private:
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Watches> watches_;
  std::mutex closing_;
};

// The watches of a client, which its streams of leaders open too, perhaps after it. Thread-safe.
class GCOORD_HIDDEN Client::Impl::Watches {
 public:
  explicit Watches(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  Result<Watch> open(WatchOptions options, Watch::Callback callback);

  // Ends all of them; those that come later fail with GC4010. Not on their own thread.
  void close();

  bool on_own_thread();

 private:
  Status feed(const std::shared_ptr<WatchState>& state);

  const std::shared_ptr<Core> core_;
  std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<WatchFeed> feed_;
  bool closed_ = false;
};

// The cluster as this client knows it. On the client's thread.
ClusterView view_of(Core& core);

}  // namespace gcoord::client
