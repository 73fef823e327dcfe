// Devices that fail a call, overrun their deadline or forget what they were told: the node's own
// door for tests (GCOORD_DEVICE_FAULT, docs/reference/devices.md), set for one life of one node.
#include "chaos/live/fault.h"

#include <fstream>
#include <iterator>

namespace gcoord::chaos {

namespace {

// A loaded node makes thousands of calls a second, and one at rest some tens; the deadline of a
// batch, which a stall overruns, is two seconds.
constexpr std::chrono::seconds kStopsWithin{30};

// The exit code of a node that its device failed (docs/reference/errors.md).
constexpr int kDeviceExit = 1;

// What a plan of GCOORD_DEVICE_FAULT is called, what it looks like from outside, and between which
// numbers it is drawn: past the calls that open a device, and while clients are served.
struct DevicePlan {
  const char* kind;
  const char* number_of;  // What the number counts.
  const char* error;      // In the node's log when it stops.
  std::uint32_t first;
  std::uint32_t last;
};

constexpr DevicePlan kError{"call", "call to its device fails", "GC7101", 100, 2000};
// A turn that stays on its device costs no calls: its host makes one, to say that it lives, some 16
// times a second, whatever clients do.
constexpr DevicePlan kResidentError{"call", "call to its device fails", "GC7101", 100, 300};
constexpr DevicePlan kStall{"hang", "batch overruns its deadline", "GC7102", 20, 400};
constexpr DevicePlan kFlip{"flip", "batch finds a bit flipped", "GC7104", 20, 400};

class DeviceFault final : public Fault {
 public:
  explicit DeviceFault(const DevicePlan& plan) : plan_(plan) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    node_ = draw.between(1, world.node_count());
    const std::string number = std::to_string(draw.between(plan_.first, plan_.last));
    world.stop(node_);
    std::error_code ignored;
    log_bytes_before_ = std::filesystem::file_size(world.cluster.log_file(node_), ignored);
    world.cluster.set_environment_once(
        node_, {{"GCOORD_DEVICE_FAULT", std::string(plan_.kind) + ":" + number}});
    GCOORD_TRY_STATUS(world.cluster.spawn(node_));
    return name_nodes({node_}) + " starts again, and its " + number + ". " + plan_.number_of;
  }

  // It must have stopped by itself, saying what is wrong with its device; and must come back.
  Result<std::string> heal(LiveWorld& world) override {
    const auto exit = world.cluster.wait_exit(node_, kStopsWithin);
    const std::string said = last_words(world.cluster.log_file(node_));
    world.cluster.kill(node_);
    GCOORD_TRY_STATUS(world.start({node_}));
    if (!exit.has_value()) {
      return Status{StatusCode::Internal, name_nodes({node_}) + " went on"};
    }
    if (exit != kDeviceExit || said.find(plan_.error) == std::string::npos) {
      return Status{StatusCode::Internal,
                    name_nodes({node_}) + " ended with " + std::to_string(*exit) + " and without " +
                        plan_.error};
    }
    felt_ = 1;
    return "it stopped with " + std::string(plan_.error) + ", and was started again";
  }

  std::uint64_t felt() const override { return felt_; }

 private:
  // What the life with the fault wrote to its log.
  std::string last_words(const std::filesystem::path& log) const {
    std::ifstream file(log, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(log_bytes_before_));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  const DevicePlan& plan_;
  std::uint32_t node_ = 1;
  std::uintmax_t log_bytes_before_ = 0;
  std::uint64_t felt_ = 0;
};

// `obstacle`: why it cannot be injected; empty: it can.
FaultClass of_device(std::string_view name,
                     std::string_view table,
                     const DevicePlan& plan,
                     std::string_view obstacle) {
  if (!obstacle.empty()) {
    return {name, table, false, nullptr, obstacle};
  }
  return {name, table, false, [&plan] { return std::make_unique<DeviceFault>(plan); }, {}};
}

}  // namespace

std::vector<FaultClass> device_faults(const StepPosition& place) {
  const std::string_view none =
      place.on_device() ? "" : "the nodes step on CPUs; --device cuda:N or twin";
  const std::string_view stall = place.resident && place.device_name() == "twin"
                                     ? "the twin of a resident turn launches nothing that hangs"
                                     : none;
  const std::string_view flip =
      place.resident ? "gcoordd injects it into the host's turn only" : none;
  return {of_device("device-error", "18", place.resident ? kResidentError : kError, none),
          of_device("device-stall", "17", kStall, stall),
          of_device("device-flip", "20", kFlip, flip)};
}

}  // namespace gcoord::chaos
