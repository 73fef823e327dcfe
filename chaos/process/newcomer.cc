#include "chaos/process/newcomer.h"

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

// As docs/reference/cluster_view.md has it: the cluster has removed this node.
constexpr int kRemovedExit = 7;

std::string joined(const std::vector<std::string>& endpoints) {
  std::string text;
  for (const std::string& each : endpoints) {
    text += (text.empty() ? "" : ",") + each;
  }
  return text;
}

}  // namespace

std::optional<client::MemberDescription> Newcomer::find(const Cluster& cluster) const {
  const auto view = cluster.client.view();
  if (!view.ok()) {
    return std::nullopt;
  }
  const auto& members = view.value().members;
  const auto found = std::ranges::find(members, name_, &client::MemberDescription::name);
  return found == members.end() ? std::nullopt : std::optional(*found);
}

Status Newcomer::come(const Cluster& cluster) {
  client::MemberAddition addition;
  addition.name = name_;
  addition.who = "live chaos";
  const auto added = cluster.client.add_member(addition);
  if (!added.ok() || added.value().token.empty()) {
    return Status{};
  }
  GCOORD_TRY(const auto ports, free_ports(3));
  const auto address = [&ports](std::size_t k) { return "127.0.0.1:" + std::to_string(ports[k]); };
  ChildOptions options;
  options.arguments = {cluster.program.string(),
                       "--data-dir",
                       (cluster.cluster.directory() / name_).string(),
                       "--listen-client",
                       address(0),
                       "--listen-peer",
                       address(1),
                       "--listen-metrics",
                       address(2),
                       "--join",
                       joined(cluster.cluster.endpoints()),
                       "--join-token",
                       added.value().token};
  options.error_file = (cluster.cluster.directory() / (name_ + ".log")).string();
  options.output_file = options.error_file;
  GCOORD_TRY(auto process, ChildProcess::start(options));
  process_.emplace(std::move(process));
  return Status{};
}

Status Newcomer::await_state(const Cluster& cluster, MemberState state) {
  const auto latest = Clock::now() + kStepWithin;
  std::string last = "not in the view";
  while (Clock::now() < latest) {
    const auto member = find(cluster);
    if (member && member->state == state) {
      return Status{};
    }
    last = member ? "in state " + std::to_string(static_cast<int>(member->state)) : last;
    std::this_thread::sleep_for(kLookEvery);
  }
  return {StatusCode::DeadlineExceeded,
          name_ + " is not in state " + std::to_string(static_cast<int>(state)) + " but " + last};
}

Status Newcomer::await_active(const Cluster& cluster) {
  return await_state(cluster, MemberState::Active);
}

Status Newcomer::leave(const Cluster& cluster) {
  const auto member = find(cluster);
  if (!member && !comes()) {
    return Status{};
  }
  const auto latest = Clock::now() + kStepWithin;
  client::MemberChange change;
  change.action = client::MemberAction::Remove;
  change.node_id = member ? member->node_id : 0;
  change.who = "live chaos";
  auto removed = cluster.client.change_member(change);
  while (!removed.ok() && Clock::now() < latest) {
    const auto now = find(cluster);
    if (now && (now->state == MemberState::Leaving || now->state == MemberState::Removed)) {
      break;  // Its answer was lost.
    }
    std::this_thread::sleep_for(kLookEvery);
    change.node_id = now ? now->node_id : change.node_id;
    removed = cluster.client.change_member(change);
  }
  GCOORD_TRY_STATUS(await_state(cluster, MemberState::Removed));
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
