#include "chaos/world/world_runs.h"

#include "common/assert.h"
#include "consensus/stepper_cuda.h"

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

// A world takes a second or so; one that takes a hundred times as long hangs.
constexpr unsigned kWorldSecondsMax = 120;

std::string encode(const WorldResult& result) {
  return nlohmann::json{{"violation", result.violation},
                        {"undecided", result.undecided},
                        {"digest", result.digest},
                        {"faults", result.faults},
                        {"acknowledged", result.acknowledged},
                        {"operations", result.operations},
                        {"lost", result.lost},
                        {"simulated_ms", result.simulated_ms},
                        {"steps_checked", result.steps_checked},
                        {"led_ms", result.led_ms}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

WorldResult decode(const std::string& text, int status) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  WorldResult result;
  if (json.is_discarded() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    result.violation = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                           ? "the run does not end"
                           : "the process ended with signal " +
                                 std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : 0) +
                                 "; its last words are on stderr";
    return result;
  }
  json.at("violation").get_to(result.violation);
  json.at("undecided").get_to(result.undecided);
  json.at("digest").get_to(result.digest);
  json.at("faults").get_to(result.faults);
  json.at("acknowledged").get_to(result.acknowledged);
  json.at("operations").get_to(result.operations);
  json.at("lost").get_to(result.lost);
  json.at("simulated_ms").get_to(result.simulated_ms);
  json.at("steps_checked").get_to(result.steps_checked);
  json.at("led_ms").get_to(result.led_ms);
  return result;
}

// A world under way in another process.
struct Apart {
  WorldOptions options;
  pid_t process = 0;
  int pipe = -1;
  std::string text;
  bool is_replay = false;
  std::uint64_t digest_wanted = 0;
};

Apart begin_apart(const WorldOptions& options) {
  int ends[2] = {-1, -1};
  GCOORD_ASSERT(::pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t process = ::fork();
  GCOORD_ASSERT(process >= 0);
  if (process == 0) {
    ::close(ends[0]);
    ::alarm(kWorldSecondsMax);
    const std::string text = encode(World(options).run());
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  return Apart{.options = options, .process = process, .pipe = ends[0], .text = {}};
}

// Reads what there is. True when the process has said all.
bool read_some(Apart& apart) {
  char bytes[4096];
  const ssize_t count = ::read(apart.pipe, bytes, sizeof bytes);
  if (count > 0) {
    apart.text.append(bytes, static_cast<std::size_t>(count));
  }
  return count == 0 || (count < 0 && errno != EINTR);
}

WorldResult end_apart(Apart& apart) {
  ::close(apart.pipe);
  int status = 0;
  while (::waitpid(apart.process, &status, 0) < 0 && errno == EINTR) {
  }
  return decode(apart.text, status);
}

void add(WorldTotals& totals, const WorldResult& result) {
  ++totals.seeds;
  totals.violations += result.violation.empty() || result.undecided ? 0u : 1u;
  totals.undecided += result.undecided ? 1u : 0u;
  totals.acknowledged += result.acknowledged;
  totals.operations += result.operations;
  totals.lost += result.lost;
  totals.simulated_ms += result.simulated_ms;
  totals.steps_checked += result.steps_checked;
  totals.led_ms_max = std::max(totals.led_ms_max, result.led_ms);
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    totals.faults[k] += result.faults[k];
  }
}

}  // namespace

std::string device_text(server::DeviceChoice device) {
  switch (device.kind) {
    case server::DeviceChoice::Kind::Cuda:
      return "cuda:" + std::to_string(device.index);
    case server::DeviceChoice::Kind::Twin:
      return "twin";
    case server::DeviceChoice::Kind::Auto:
      return "auto";
    case server::DeviceChoice::Kind::Cpu:
      break;
  }
  return "cpu";
}

Status check_device(server::DeviceChoice device) {
  if (device.kind == server::DeviceChoice::Kind::Auto) {
    return {StatusCode::InvalidArgument, "a world's devices are named: cpu, twin or cuda:N"};
  }
  if (device.kind != server::DeviceChoice::Kind::Cuda) {
    return {};
  }
  const pid_t process = ::fork();
  GCOORD_ASSERT(process >= 0);
  if (process == 0) {
    ::_exit(consensus::cuda_device_count() > device.index ? 0 : 1);
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0
             ? Status{}
             : Status{StatusCode::Unavailable, "there is no " + device_text(device) + " here"};
}

WorldResult run_apart(const WorldOptions& options) {
  Apart apart = begin_apart(options);
  while (!read_some(apart)) {
  }
  return end_apart(apart);
}

namespace {

// Keeps `jobs` processes busy until the plan is done.
class Runs {
 public:
  Runs(const WorldPlan& plan, const OnFailedWorld& on_failed)
      : plan_(plan), on_failed_(on_failed), next_(plan.first) {}

  WorldTotals run() {
    fill();
    while (!under_way_.empty()) {
      wait();
      fill();
    }
    totals_.wall_s = seconds();
    return totals_;
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  }

  void fill() {
    const bool in_time =
        plan_.time_max.count() == 0 || seconds() < static_cast<double>(plan_.time_max.count());
    while (under_way_.size() < plan_.jobs && in_time && !stopped_ &&
           next_ < plan_.first + plan_.seeds) {
      WorldOptions options = world_of_seed(next_++, plan_.device);
      options.mutant = plan_.mutant;
      under_way_.push_back(begin_apart(options));
    }
  }

  void wait() {
    std::vector<pollfd> waits;
    for (const Apart& apart : under_way_) {
      waits.push_back({apart.pipe, POLLIN, 0});
    }
    ::poll(waits.data(), waits.size(), -1);
    for (std::size_t k = waits.size(); k-- > 0;) {
      if (waits[k].revents != 0 && read_some(under_way_[k])) {
        Apart ended = std::move(under_way_[k]);
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(k));
        take(ended);
      }
    }
  }

  void take(Apart& ended) {
    const WorldResult result = end_apart(ended);
    if (ended.is_replay) {
      ++totals_.replays;
      totals_.replays_unequal += result.digest == ended.digest_wanted ? 0u : 1u;
      return;
    }
    add(totals_, result);
    if (!result.violation.empty()) {
      stopped_ = plan_.stop_at_failure;
      on_failed_(ended.options, result);
    } else if (plan_.replay_every != 0 && ended.options.seed % plan_.replay_every == 0) {
      Apart again = begin_apart(ended.options);
      again.is_replay = true;
      again.digest_wanted = result.digest;
      under_way_.push_back(std::move(again));
    }
  }

  const WorldPlan& plan_;
  const OnFailedWorld& on_failed_;
  std::uint64_t next_;
  std::vector<Apart> under_way_;
  bool stopped_ = false;
  WorldTotals totals_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

WorldTotals run_worlds(const WorldPlan& plan, const OnFailedWorld& on_failed) {
  return Runs(plan, on_failed).run();
}

WorldOptions minimise(WorldOptions options, std::uint32_t tries) {
  const auto keep_if_failing = [&](const WorldOptions& smaller) {
    if (tries == 0 || run_apart(smaller).violation.empty()) {
      return false;
    }
    --tries;
    options = smaller;
    return true;
  };
  for (std::size_t k = 0; k < kFaultClassCount && tries > 0; ++k) {
    if ((options.faults & mask_of(static_cast<FaultClass>(k))) != 0) {
      WorldOptions smaller = options;
      smaller.faults &= ~mask_of(static_cast<FaultClass>(k));
      keep_if_failing(smaller);
    }
  }
  for (bool shorter = true; shorter && options.safety_ms > options.election_ms();) {
    WorldOptions smaller = options;
    smaller.safety_ms /= 2;
    shorter = keep_if_failing(smaller);
  }
  for (const std::uint32_t count : {3u, 5u}) {
    WorldOptions smaller = options;
    smaller.node_count = std::min(smaller.node_count, count);
    if (smaller.node_count != options.node_count && keep_if_failing(smaller)) {
      break;
    }
  }
  for (bool fewer = true; fewer && options.client_count > 1;) {
    WorldOptions smaller = options;
    smaller.client_count /= 2;
    fewer = keep_if_failing(smaller);
  }
  return options;
}

std::string replay_arguments(const WorldOptions& options) {
  std::string faults;
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    const auto fault = static_cast<FaultClass>(k);
    if ((options.faults & mask_of(fault)) != 0) {
      faults += (faults.empty() ? "" : ",") + std::string(fault_class_name(fault));
    }
  }
  const std::string mutant = options.mutant == Mutant::None
                                 ? std::string{}
                                 : std::string(" --mutant ") + mutant_name(options.mutant);
  const std::string device =
      options.device.names_device() ? " --device " + device_text(options.device) : std::string{};
  return std::to_string(options.seed) + mutant + device + " --nodes " +
         std::to_string(options.node_count) + " --clients " + std::to_string(options.client_count) +
         " --safety-ms " + std::to_string(options.safety_ms) + " --faults " +
         (faults.empty() ? "none" : faults);
}

Result<FaultMask> parse_faults(std::string_view names) {
  FaultMask faults = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    FaultMask found = 0;
    for (std::size_t k = 0; k < kFaultClassCount; ++k) {
      const auto fault = static_cast<FaultClass>(k);
      found |= name == fault_class_name(fault) ? mask_of(fault) : 0;
    }
    if (found == 0 && name != "none") {
      return Status{StatusCode::InvalidArgument, "there is no fault class " + std::string(name)};
    }
    faults |= found;
  }
  return faults;
}

Result<WorldOptions> parse_replay(const std::string& arguments) {
  std::istringstream words(arguments);
  std::uint64_t seed = 0;
  words >> seed;
  WorldOptions options = world_of_seed(seed);
  for (std::string name; words >> name;) {
    std::string value;
    words >> value;
    const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "--nodes") {
      options.node_count = static_cast<std::uint32_t>(number);
    } else if (name == "--clients") {
      options.client_count = static_cast<std::uint32_t>(number);
    } else if (name == "--safety-ms") {
      options.safety_ms = number;
    } else if (name == "--device") {
      GCOORD_TRY(options.device, server::parse_device_choice(value));
    } else if (name == "--faults") {
      GCOORD_TRY(options.faults, parse_faults(value));
    } else {
      return Status{StatusCode::InvalidArgument, "a replay has no argument " + name};
    }
  }
  return options;
}

}  // namespace gcoord::chaos
