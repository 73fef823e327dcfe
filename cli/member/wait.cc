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
// How long an admission in time may take to be seen.
constexpr std::chrono::seconds kUnderWay{2};
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

bool has_left(const client::MemberDescription* member) {
  return member == nullptr || member->state == MemberState::Removed;
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
  return json.is_object() && unsigned_of(json["leaders"]).value_or(1) == 0;
}

struct Sample {
  MemberOutlook outlook = MemberOutlook::Open;
  bool late = false;
  std::string line;
};

client::Result<Sample> sample(client::Client& client, const MemberWait& wait) {
  const auto view = client.view();
  if (!view.ok()) {
    return view.status();
  }
  const client::MemberDescription* const member = member_of(view.value(), wait.node_id);
  if (has_left(member)) {
    return Sample{.outlook = outlook_of(wait, view.value(), {}),
                  .late = false,
                  .line = "node " + std::to_string(wait.node_id) + " has left"};
  }
  const auto progress = client.member_progress();
  if (!progress.ok()) {
    return progress.status();
  }
  Sample seen;
  seen.line = progress_line(wait, progress.value(), state_text(member->state));
  seen.outlook = outlook_of(wait, view.value(), progress.value());
  seen.late = is_late(wait, view.value(), std::chrono::system_clock::now());
  if (wait.goal != MemberGoal::Drained) {
    return seen;
  }
  const auto idle = leads_nothing(client, wait.node_id);
  if (!idle.ok()) {
    return idle.status();
  }
  seen.outlook = idle.value() ? MemberOutlook::Reached : MemberOutlook::Open;
  return seen;
}

}  // namespace

MemberOutlook outlook_of(const MemberWait& wait,
                         const client::MembershipView& view,
                         const client::MemberProgress& progress) {
  const client::MemberDescription* const member = member_of(view, wait.node_id);
  const bool drains = wait.goal == MemberGoal::Drained;  // So does who leaves.
  const bool left = has_left(member) || (!drains && member->state == MemberState::Leaving);
  const auto when = [](bool reached) {
    return reached ? MemberOutlook::Reached : MemberOutlook::Open;
  };
  if (wait.goal == MemberGoal::Gone) {
    return when(has_left(member));
  }
  if (left) {
    return MemberOutlook::Left;
  }
  switch (wait.goal) {
    case MemberGoal::Joined:
      return when(!member->invited && all(progress, progress.ready, view.epoch));
    case MemberGoal::Active: {
      const bool alone = wait.replaces == 0 || has_left(member_of(view, wait.replaces));
      return when(member->state == MemberState::Active && alone &&
                  all(progress, progress.settled, view.epoch));
    }
    case MemberGoal::Drained:
      return when(member->state == MemberState::Draining);
    case MemberGoal::Gone:
      break;
  }
  return MemberOutlook::Open;
}

bool is_late(const MemberWait& wait, const client::MembershipView& view, Deadline now) {
  const client::MemberDescription* const member = member_of(view, wait.node_id);
  return member != nullptr && member->invited && now >= wait.invited_until &&
         now - wait.invited_until >= kUnderWay;
}

std::string progress_line(const MemberWait& wait,
                          const client::MemberProgress& progress,
                          const std::string& state) {
  // Two nodes count a shard while its leadership moves from one to the other.
  const std::uint32_t done = std::min(
      wait.goal == MemberGoal::Joined ? progress.ready : progress.settled, progress.shards);
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
    const MemberOutlook outlook = seen.ok() ? seen.value().outlook : MemberOutlook::Open;
    if (outlook == MemberOutlook::Reached) {
      return 0;
    }
    if (outlook == MemberOutlook::Left || (seen.ok() && seen.value().late)) {
      const bool left = outlook == MemberOutlook::Left;
      return context.fail(protocol::make_error(
          left ? protocol::ErrorCode::MemberRemoved : protocol::ErrorCode::JoinTokenLate,
          "node " + std::to_string(wait.node_id)));
    }
    wait_readable({signals.fd()}, kPause);
  }
  talk("the change goes on; gcoordctl member list shows how far it is");
  return static_cast<int>(protocol::ExitCode::Unavailable);
}

}  // namespace gcoord::cli
