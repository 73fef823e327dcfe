#include "cli/member/wait.h"

#include "cli/member/description.h"
#include "cli/terminal/command.h"
#include "cli/terminal/wake_sources.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

namespace gcoord::cli {

namespace {

using client::MemberState;

// Between two samples: a signal is seen then at the latest.
constexpr std::chrono::milliseconds kPause{500};
constexpr std::size_t kBarWidth = 24;

// What passes by itself: a leader that changes, nodes that restart.
bool passes(const client::Status& status) {
  const protocol::ErrorEntry* const entry = protocol::find_error(status.detail());
  return entry != nullptr && (entry->exit == protocol::ExitCode::Unavailable ||
                              entry->exit == protocol::ExitCode::Unreachable);
}

// Draws a line where it drew the last one, or writes one below the other.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (terminal_ && !shown_.empty()) {
      std::fputs("\n", stderr);
    }
  }

  void show(const std::string& line) {
    if (line == shown_) {
      return;
    }
    if (terminal_) {
      std::fprintf(stderr, "\r%s\033[K", line.c_str());
    } else {
      talk(line);
    }
    shown_ = line;
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string shown_;
};

const client::MemberDescription* member_of(const client::MembershipView& view,
                                           std::uint32_t node_id) {
  const auto found = std::ranges::find(view.members, node_id, &client::MemberDescription::node_id);
  return found == view.members.end() ? nullptr : &*found;
}

bool all(const client::MemberProgress& progress, std::uint32_t count, std::uint64_t epoch) {
  return progress.shards != 0 && progress.led == progress.shards && count == progress.shards &&
         progress.epoch >= epoch;
}

// Whether the node leads no shard, as it says itself.
client::Result<bool> leads_nothing(client::Client& client, std::uint32_t node_id) {
  const auto report = client.node_status(node_id);
  if (!report.ok()) {
    return report.status();
  }
  const Json json = parse_json(report.value());
  return json.is_object() && json.value("leaders", std::uint64_t{1}) == 0;
}

struct Sample {
  bool reached = false;
  std::string line;
};

client::Result<Sample> sample(client::Client& client, const MemberWait& wait) {
  const auto view = client.view();
  if (!view.ok()) {
    return view.status();
  }
  const client::MemberDescription* const member = member_of(view.value(), wait.node_id);
  if (member == nullptr || member->state == MemberState::Removed) {
    return Sample{.reached = true, .line = "node " + std::to_string(wait.node_id) + " has left"};
  }
  const auto progress = client.member_progress();
  if (!progress.ok()) {
    return progress.status();
  }
  Sample seen;
  seen.line = progress_line(wait, progress.value(), state_text(member->state));
  if (wait.goal != MemberGoal::Drained) {
    seen.reached = is_reached(wait, view.value(), progress.value());
    return seen;
  }
  const auto idle = leads_nothing(client, wait.node_id);
  if (!idle.ok()) {
    return idle.status();
  }
  seen.reached = idle.value();
  return seen;
}

}  // namespace

bool is_reached(const MemberWait& wait,
                const client::MembershipView& view,
                const client::MemberProgress& progress) {
  const client::MemberDescription* const member = member_of(view, wait.node_id);
  if (member == nullptr || member->state == MemberState::Removed) {
    return true;
  }
  switch (wait.goal) {
    case MemberGoal::Joined:
      return !member->invited && all(progress, progress.ready, view.epoch);
    case MemberGoal::Active:
      return member->state == MemberState::Active && all(progress, progress.settled, view.epoch) &&
             std::ranges::none_of(view.members, [](const client::MemberDescription& each) {
               return each.state == MemberState::Leaving;
             });
    case MemberGoal::Gone:
      return false;
    case MemberGoal::Drained:
      return member->state == MemberState::Draining;
  }
  return false;
}

std::string progress_line(const MemberWait& wait,
                          const client::MemberProgress& progress,
                          const std::string& state) {
  const std::uint32_t done = wait.goal == MemberGoal::Joined ? progress.ready : progress.settled;
  const std::uint64_t shards = std::max<std::uint32_t>(progress.shards, 1);
  const auto filled =
      static_cast<std::size_t>(std::min<std::uint64_t>(done, shards) * kBarWidth / shards);
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '-') + "] " +
         std::to_string(done) + " of " + std::to_string(progress.shards) + " shards, node " +
         std::to_string(wait.node_id) + " " + state;
}

int await_member(Context& context, client::Client& client, const MemberWait& wait) {
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};
  ProgressLine line;
  while (signals.take() == 0) {
    const auto seen = sample(client, wait);
    if (!seen.ok() && !passes(seen.status())) {
      return context.fail(client, seen.status());
    }
    if (seen.ok()) {
      line.show(seen.value().line);
    }
    if (seen.ok() && seen.value().reached) {
      return 0;
    }
    wait_readable({signals.fd()}, kPause);
  }
  talk("the change goes on; gcoordctl member list shows how far it is");
  return static_cast<int>(protocol::ExitCode::Unavailable);
}

}  // namespace gcoord::cli
