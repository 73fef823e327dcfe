// The watch of all names of a cluster: how often each has changed, and the changes of one of them.
//
// A watch ends with an error when it was cut off for longer than nodes keep events, as by Ctrl-Z
// for an hour. It is begun again then, by a thread of its own; changes in between are not counted.
// Events come on the client's thread for watches; the caller is one thread.
#pragma once

#include "cli/top/samples/changes.h"
#include "cli/top/samples/hot_names.h"
#include "cli/top/worker.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli::top {

class NameWatch {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // Changes have their times since `zero`. The client outlives this, and is closed before this
  // ends: the thread may wait for an answer.
  NameWatch(client::Client& client, Moment zero) : client_(client), zero_(zero) {}

  // Blocks as Client::watch does. After a failure keep() tries again.
  client::Status begin();

  // Begins the watch again if it has ended, at most once in kAgainAfter. Does not wait.
  void keep();

  // Why no changes are told; empty while they are.
  std::string error() const;

  // What changed since the last call.
  HotNames::Sample take(std::size_t names_max) { return heat_.take(names_max); }

  // Keeps the changes of another name from now on; empty: of none.
  void follow(const std::string& name) { changes_.follow(name); }

  // The newest first.
  std::vector<Change> followed() const { return changes_.followed(); }

 private:
  void on_watch(const client::Result<client::WatchBatch>& batch);
  void end_with(const client::Status& status);

  client::Client& client_;
  const Moment zero_;
  HotNames heat_;
  RecentChanges changes_;
  Moment again_at_{};
  mutable std::mutex mutex_;  // Guards what follows.
  bool ended_ = false;
  std::string error_;
  std::optional<client::Watch> watch_;  // Of begin(), then of the worker's thread.
  Worker worker_;                       // Ends first.
};

}  // namespace gcoord::cli::top
