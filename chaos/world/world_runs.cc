#include "chaos/world/world_runs.h"

#include "chaos/world/apart.h"
#include "common/assert.h"
#include "common/json/members.h"
#include "common/json/text.h"
#include "common/json/value.h"
#include "consensus/device/stepper_cuda.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <sstream>

namespace gcoord::chaos {
namespace {

// A world takes a second or so; one that takes a hundred times as long hangs.
constexpr unsigned kWorldSecondsMax = 120;

template <std::size_t count>
Json json_of(const std::array<std::uint64_t, count>& numbers) {
  Json array = Json::array();
  for (const std::uint64_t number : numbers) {
    array.push_back(number);
  }
  return array;
}

std::string encode(const WorldResult& result) {
  return Json{{"violation", result.violation},
              {"undecided", result.undecided},
              {"digest", result.digest},
              {"faults", json_of(result.faults)},
              {"power", json_of(result.power)},
              {"acknowledged", result.acknowledged},
              {"operations", result.operations},
              {"weak_reads", result.weak_reads},
              {"quorum_reads", result.quorum_reads},
              {"group_requests", result.group_requests},
              {"lost", result.lost},
              {"sessions", result.sessions.opened},
              {"sessions_ended_early", result.sessions.ended_early},
              {"simulated_ms", result.simulated_ms},
              {"steps_checked", result.steps_checked},
              {"led_ms", result.led_ms}}
      .dump();
}

WorldResult decode(const ApartResult& ended) {
  const Json json = parse_json(ended.text);
  WorldResult result;
  if (!json.is_object() || !ended.death.empty()) {
    result.violation = ended.death.empty() ? "the process said nothing" : ended.death;
    return result;
  }
  JsonMembers members(json);
  const auto number = [&members](const char* name) {
    members.require(name);
    return members.number<std::uint64_t>(name);
  };
  result.violation = members.text("violation");
  result.undecided = members.flag("undecided");
  result.digest = number("digest");
  result.faults = members.numbers<std::uint64_t, kFaultClassCount>("faults");
  result.power = members.numbers<std::uint64_t, kPowerCountCount>("power");
  result.acknowledged = number("acknowledged");
  result.operations = number("operations");
  result.weak_reads = number("weak_reads");
  result.quorum_reads = number("quorum_reads");
  result.group_requests = number("group_requests");
  result.lost = number("lost");
  result.sessions = {number("sessions"), number("sessions_ended_early")};
  result.simulated_ms = number("simulated_ms");
  result.steps_checked = number("steps_checked");
  result.led_ms = number("led_ms");
  if (!members.first_wrong().empty()) {
    result.violation = "the process said nothing of " + members.first_wrong();
  }
  return result;
}

void add(WorldTotals& totals, const WorldResult& result) {
  ++totals.seeds;
  totals.violations += result.violation.empty() || result.undecided ? 0u : 1u;
  totals.undecided += result.undecided ? 1u : 0u;
  totals.acknowledged += result.acknowledged;
  totals.operations += result.operations;
  totals.weak_reads += result.weak_reads;
  totals.quorum_reads += result.quorum_reads;
  totals.lost += result.lost;
  totals.sessions.opened += result.sessions.opened;
  totals.sessions.ended_early += result.sessions.ended_early;
  totals.simulated_ms += result.simulated_ms;
  totals.steps_checked += result.steps_checked;
  totals.led_ms_max = std::max(totals.led_ms_max, result.led_ms);
  for (std::size_t k = 0; k < kFaultClassCount; ++k) {
    totals.faults[k] += result.faults[k];
  }
  for (std::size_t k = 0; k < kPowerCountCount; ++k) {
    totals.power[k] += result.power[k];
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
  return decode(
      run_one_apart([options] { return encode(World(options).run()); }, kWorldSecondsMax));
}

namespace {

// Keeps `jobs` processes busy until the plan is done.
class Runs {
 public:
  Runs(const WorldPlan& plan, const OnFailedWorld& on_failed)
      : plan_(plan),
        on_failed_(on_failed),
        next_(plan.first),
        apart_(plan.jobs, kWorldSecondsMax) {}

  WorldTotals run() {
    fill();
    while (!apart_.idle()) {
      apart_.wait();
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
    while (apart_.has_room() && in_time && !stopped_ && next_ < plan_.first + plan_.seeds) {
      begin(plan_.make_world(next_++), std::nullopt);
    }
  }

  // digest_wanted: of the run before, of which this is a repetition.
  void begin(WorldOptions options, std::optional<std::uint64_t> digest_wanted) {
    options.mutant = plan_.mutant;
    apart_.begin([options] { return encode(World(options).run()); },
                 [this, options, digest_wanted](const ApartResult& ended) {
                   take(options, decode(ended), digest_wanted);
                 });
  }

  void take(const WorldOptions& options,
            const WorldResult& result,
            std::optional<std::uint64_t> digest_wanted) {
    if (digest_wanted) {
      ++totals_.replays;
      totals_.replays_unequal += result.digest == *digest_wanted ? 0u : 1u;
      return;
    }
    add(totals_, result);
    if (!result.violation.empty()) {
      stopped_ = plan_.stop_at_failure;
      on_failed_(options, result);
    } else if (plan_.replay_every != 0 && options.seed % plan_.replay_every == 0) {
      begin(options, result.digest);
    }
    stopped_ = stopped_ || (plan_.enough && plan_.enough(totals_));
  }

  const WorldPlan& plan_;
  const OnFailedWorld& on_failed_;
  std::uint64_t next_;
  Apart apart_;
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
  const std::string threads = options.turn_threads == 1
                                  ? std::string{}
                                  : " --turn-threads " + std::to_string(options.turn_threads);
  const std::string groups = options.group_members == 0
                                 ? std::string{}
                                 : " --group-members " + std::to_string(options.group_members);
  return std::to_string(options.seed) + mutant + device + threads + " --nodes " +
         std::to_string(options.node_count) + " --clients " + std::to_string(options.client_count) +
         " --safety-ms " + std::to_string(options.safety_ms) + " --faults " +
         (faults.empty() ? "none" : faults) + groups +
         (options.judges_liveness ? "" : " --safety-only");
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
    if (name == "--safety-only") {
      options.judges_liveness = false;
      continue;
    }
    std::string value;
    words >> value;
    const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "--nodes") {
      options.node_count = static_cast<std::uint32_t>(number);
    } else if (name == "--clients") {
      options.client_count = static_cast<std::uint32_t>(number);
    } else if (name == "--group-members") {
      options.group_members = static_cast<std::uint32_t>(number);
    } else if (name == "--safety-ms") {
      options.safety_ms = number;
    } else if (name == "--turn-threads") {
      options.turn_threads = static_cast<std::uint32_t>(number);
    } else if (name == "--device") {
      GCOORD_TRY(options.device, server::parse_device_choice(value));
    } else if (name == "--faults") {
      GCOORD_TRY(const FaultMask faults, parse_faults(value));
      options.set_faults(faults);
    } else {
      return Status{StatusCode::InvalidArgument, "a replay has no argument " + name};
    }
  }
  return options;
}

}  // namespace gcoord::chaos
