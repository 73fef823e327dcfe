#include "chaos/live/guest_node.h"

#include "chaos/process/cluster_watch.h"
#include "chaos/process/free_ports.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;
using client::MemberState;

// For each step of its way: with faults beside it, elections and lost answers included.
constexpr std::chrono::seconds kStepWithin{90};
constexpr std::chrono::milliseconds kLookEvery{200};

// docs/reference/exit_codes.md: the cluster removed this node.
constexpr int kRemovedExit = 7;

std::string joined(const std::vector<std::string>& endpoints) {
  std::string text;
  for (const std::string& each : endpoints) {
    text += (text.empty() ? "" : ",") + each;
  }
  return text;
}

}  // namespace

std::optional<client::MemberDescription> GuestNode::find(LiveWorld& world) const {
  const auto view = world.client.view();
  if (!view.ok()) {
    return std::nullopt;
  }
  const auto& members = view.value().members;
  const auto found = std::ranges::find(members, name_, &client::MemberDescription::name);
  return found == members.end() ? std::nullopt : std::optional(*found);
}

Status GuestNode::come(LiveWorld& world) {
  client::MemberAddition addition;
  addition.name = name_;
  addition.who = "live chaos";
  const auto added = world.client.add_member(addition);
  if (!added.ok() || added.value().token.empty()) {
    return Status{};
  }
  GCOORD_TRY(const auto ports, free_ports(3));
  const auto address = [&ports](std::size_t k) { return "127.0.0.1:" + std::to_string(ports[k]); };
  ChildOptions options;
  options.arguments = {world.program.string(),
                       "--data-dir",
                       (world.cluster.directory() / name_).string(),
                       "--listen-client",
                       address(0),
                       "--listen-peer",
                       address(1),
                       "--listen-metrics",
                       address(2),
                       "--join",
                       joined(world.cluster.endpoints()),
                       "--join-token",
                       added.value().token};
  options.error_file = (world.cluster.directory() / (name_ + ".log")).string();
  options.output_file = options.error_file;
  GCOORD_TRY(auto process, ChildProcess::start(options));
  process_.emplace(std::move(process));
  return Status{};
}

Status GuestNode::await_state(LiveWorld& world, MemberState state) {
  const auto latest = Clock::now() + kStepWithin;
  std::string last = "not in the view";
  while (Clock::now() < latest) {
    const auto member = find(world);
    if (member && member->state == state) {
      return Status{};
    }
    last = member ? "in state " + std::to_string(static_cast<int>(member->state)) : last;
    std::this_thread::sleep_for(kLookEvery);
  }
  return {StatusCode::DeadlineExceeded,
          name_ + " is not in state " + std::to_string(static_cast<int>(state)) + " but " + last};
}

Status GuestNode::await_active(LiveWorld& world) {
  return await_state(world, MemberState::Active);
}

Status GuestNode::leave(LiveWorld& world) {
  const auto member = find(world);
  if (!member && !comes()) {
    return Status{};
  }
  const auto latest = Clock::now() + kStepWithin;
  client::MemberChange change;
  change.action = client::MemberAction::Remove;
  change.node_id = member ? member->node_id : 0;
  change.who = "live chaos";
  auto removed = world.client.change_member(change);
  while (!removed.ok() && Clock::now() < latest) {
    const auto now = find(world);
    if (now && (now->state == MemberState::Leaving || now->state == MemberState::Removed)) {
      break;  // Its answer was lost.
    }
    std::this_thread::sleep_for(kLookEvery);
    change.node_id = now ? now->node_id : change.node_id;
    removed = world.client.change_member(change);
  }
  GCOORD_TRY_STATUS(await_state(world, MemberState::Removed));
  if (!comes()) {
    return Status{};
  }
  const auto code = process_->wait_for(kStepWithin);
  return code == kRemovedExit
             ? Status{}
             : Status{StatusCode::Aborted,
                      name_ + " ended with " + (code ? std::to_string(*code) : "nothing") +
                          ", not as a removed node"};
}

}  // namespace gcoord::chaos
