// A node that comes into a running cluster by the verbs of an operator, and leaves it again: added
// with a token, joined, active, removed, gone. It has no shim and no proxies of its own; what
// strikes it are the others' faults. One thread.
#pragma once

#include "chaos/live/live_world.h"
#include "common/host/child_process.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::chaos {

class GuestNode {
 public:
  // `name`: no other node has or had it.
  explicit GuestNode(std::string name) : name_(std::move(name)) {}

  // Invites it and starts its process, which joins as soon as it can. Where the invitation was not
  // answered in time, because of what else is struck, nobody comes: leave() clears that up.
  Status come(LiveWorld& world);

  // Waits until it is an active voter. Failures: it did not become one in time.
  Status await_active(LiveWorld& world);

  // Removes it and waits until the cluster calls it gone and its process has ended with the code of
  // a removed node.
  Status leave(LiveWorld& world);

  // Whether somebody was invited and comes.
  bool comes() const { return process_.has_value(); }

 private:
  std::optional<client::MemberDescription> find(LiveWorld& world) const;
  Status await_state(LiveWorld& world, client::MemberState state);

  std::string name_;
  std::optional<ChildProcess> process_;
};

}  // namespace gcoord::chaos
