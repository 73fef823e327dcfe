// Threads that stop while the others of their node go on (thread_stop.h): one that shares the
// node's turn, or the one that writes the log of record.
//
// Either way the node must fall silent, so that the others lead. One whose turn cannot end ends
// itself after ten election timeouts, ten seconds at least; one that was stopped for less comes
// back (docs/internals/threads.md).
#include "chaos/live/fault.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/process/thread_stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>

namespace gcoord::chaos {

namespace {

using Clock = std::chrono::steady_clock;

// For the others to lead everything: as long as a run waits for leaders after healing.
constexpr std::chrono::milliseconds kLedTimeout{30'000};
// A node of the default election timeout ends itself no sooner than this, and on a busy machine
// later: it counts the time in which it was awake.
constexpr std::chrono::seconds kEndsNotBefore{10};
constexpr std::chrono::seconds kEndsWithin{90};
// Between two looks whether it did.
constexpr std::chrono::milliseconds kEndPoll{50};
constexpr int kAborted = 128 + SIGABRT;
// A turn thread stops so often for good, and else for less than a node bears.
constexpr std::uint32_t kForGoodOneIn = 2;

// What the two kinds differ in.
struct ThreadKind {
  const char* prefix;  // Of the thread's name.
  const char* words;
  bool ends_node;  // If the stop lasts.
};

constexpr ThreadKind kTurnThread{"turn-", "a turn thread", true};
constexpr ThreadKind kLogThread{"log", "the thread of the log of record", false};

class StoppedThread final : public Fault {
 public:
  explicit StoppedThread(const ThreadKind& kind) : kind_(kind) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const bool alone = world.claimed.empty();
    for_good_ = kind_.ends_node && draw.one_in(kForGoodOneIn);
    if (!choose(world, draw)) {
      return fmt::format("no node has {} now", kind_.words);
    }
    std::error_code ignored;
    log_bytes_before_ = std::filesystem::file_size(world.cluster.log_file(node_), ignored);
    GCOORD_TRY(ThreadStop stop, ThreadStop::begin(thread_));
    stop_.emplace(std::move(stop));
    began_ = Clock::now();
    const std::string what = fmt::format(
        "{} of {} stops{}", kind_.words, name_nodes({node_}), for_good_ ? " for good" : "");
    return alone ? lead_without(world, what) : what;
  }

  std::chrono::milliseconds hold(Draw& draw) override {
    return stop_.has_value() && !for_good_ ? draw.milliseconds(100, 2500)
                                           : std::chrono::milliseconds{0};
  }

  Result<std::string> heal(LiveWorld& world) override {
    if (!stop_.has_value()) {
      return std::string{};
    }
    if (for_good_) {
      await_end(world);
    }
    const bool ended = stop_->ended();
    const auto stopped = Clock::now() - began_;
    stop_.reset();
    if (ended || for_good_) {
      return start_again(world, stopped);
    }
    return std::string{"it goes on"};
  }

  std::uint64_t felt() const override { return felt_; }

 private:
  // A thread of a node that nothing else strikes; if possible of one that leads, so that the others
  // have something to take over. False: there is none.
  bool choose(LiveWorld& world, Draw& draw) {
    for (const std::uint32_t node : draw.some(world.node_count(), world.node_count())) {
      const auto& claimed = world.claimed;
      const bool free = std::find(claimed.begin(), claimed.end(), node) == claimed.end();
      const auto threads = free && world.alive(node)
                               ? threads_named(world.cluster.pid(node), kind_.prefix)
                               : std::vector<pid_t>{};
      if (!threads.empty()) {
        const auto counts = leader_counts(world.client, {node});
        led_ = counts.ok() && counts.value().front() > 0;
        node_ = node;
        thread_ = threads[draw.below(static_cast<std::uint32_t>(threads.size()))];
        if (led_) {
          break;
        }
      }
    }
    if (node_ != 0) {
      world.claimed.push_back(node_);
      world.may_end.push_back(node_);
    }
    return node_ != 0;
  }

  // The others must come to lead everything. Turn threads are needed only where many rows wait, as
  // they do when a node hears one of its peers no more, so it is made to.
  Result<std::string> lead_without(LiveWorld& world, const std::string& what) {
    const std::uint32_t unheard = node_ % world.node_count() + 1;
    world.proxies.set(unheard, node_, {.cut = kind_.ends_node});
    AllLedOptions asked{.may_be_silent = world.cluster.rejoining(),
                        .shards = world.cluster.shards(),
                        .timeout = kLedTimeout};
    for (std::uint32_t node = 1; node <= world.node_count(); ++node) {
      if (node != node_) {
        asked.node_ids.push_back(node);
      }
    }
    const auto led = wait_all_led(world.client, began_, asked);
    world.proxies.set(unheard, node_, {});
    if (!led.ok()) {
      return Status{StatusCode::Internal,
                    what + " and it goes on leading: " + led.status().message()};
    }
    felt_ += led_ ? 1u : 0u;
    return fmt::format("{}, the others lead after {} ms", what, led.value().count());
  }

  void await_end(LiveWorld& world) {
    const auto latest = began_ + kEndsWithin;
    while (!stop_->ended() && Clock::now() < latest) {
      world.cluster.wait_exit(node_, kEndPoll);
    }
  }

  // Its end must have been the watchdog's, neither early nor for another reason.
  Result<std::string> start_again(LiveWorld& world, Clock::duration stopped) {
    const auto exit = world.cluster.wait_exit(node_, kEndsWithin);
    const bool said = log_since_stop(world).find("does not come back") != std::string::npos;
    world.cluster.kill(node_);
    GCOORD_TRY_STATUS(world.start({node_}));
    const auto seconds = std::chrono::duration<double>(stopped).count();
    if (exit != kAborted || !said || stopped < kEndsNotBefore) {
      return Status{
          StatusCode::Internal,
          fmt::format("{} {} after {:.1f} s",
                      name_nodes({node_}),
                      exit.has_value() ? fmt::format("ended with {}", *exit) : "still ran",
                      seconds)};
    }
    return fmt::format("it ended itself after {:.1f} s and was started again", seconds);
  }

  std::string log_since_stop(LiveWorld& world) const {
    std::ifstream file(world.cluster.log_file(node_), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(log_bytes_before_));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const ThreadKind& kind_;
  std::uint32_t node_ = 0;
  pid_t thread_ = 0;
  std::optional<ThreadStop> stop_;
  bool for_good_ = false;
  bool led_ = false;  // The node led a shard before.
  Clock::time_point began_;
  std::uintmax_t log_bytes_before_ = 0;
  std::uint64_t felt_ = 0;
};

FaultClass unless(std::string_view obstacle, FaultClass wanted) {
  if (!obstacle.empty()) {
    wanted.make = nullptr;
    wanted.skip = obstacle;
  }
  return wanted;
}

}  // namespace

std::vector<FaultClass> thread_faults(const StepPosition& place) {
  const std::string_view untraced = thread_stop_obstacle();
  const std::string_view turn =
      place.on_device() ? "a turn over a device has one thread" : untraced;
  return {unless(turn,
                 {.name = "turn-thread",
                  .table = "39",
                  .make = [] { return std::make_unique<StoppedThread>(kTurnThread); }}),
          unless(untraced, {.name = "log-thread", .table = "8", .make = [] {
                              return std::make_unique<StoppedThread>(kLogThread);
                            }})};
}

}  // namespace gcoord::chaos
