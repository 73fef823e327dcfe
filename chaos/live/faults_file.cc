// Rot in what a stopped node left, other directories in its place, and nodes that are not who they
// say.
#include "chaos/live/bit_flip.h"
#include "chaos/live/fault.h"
#include "chaos/process/directory_copy.h"
#include "chaos/process/free_ports.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>

namespace gcoord::chaos {

namespace {

namespace fs = std::filesystem;

// A node that must be refused has to say so within this.
constexpr std::chrono::seconds kRefusedWithin{15};
constexpr std::chrono::seconds kReadyWithin{20};

// Rot in up to a minority of the nodes, in different places. A node may refuse to start, and then
// the bit is put back; a node that starts although a bit is wrong is held against all the others by
// the checkers, to the end.
class Rot final : public Fault {
 public:
  explicit Rot(std::string folder) : folder_(std::move(folder)) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    for (const std::uint32_t node : world.claim(draw, draw.between(1, world.minority()))) {
      world.cluster.kill(node);
      GCOORD_TRY(const BitFlip flip, flip_bit(files_in(world.shim(node).disk() / folder_), draw));
      flips_.push_back({node, flip});
    }
    std::string what = "a bit flipped in";
    for (Flipped& each : flips_) {
      GCOORD_TRY_STATUS(world.cluster.spawn(each.node));
      what += " " + each.flip.file.filename().string() + " of " + name_nodes({each.node}) + " at " +
              std::to_string(each.flip.offset) + ",";
    }
    what.pop_back();
    for (Flipped& each : flips_) {
      each.starts = world.cluster.wait_serving(each.node, kReadyWithin).ok();
    }
    return what;
  }

  Result<std::string> heal(LiveWorld& world) override {
    std::uint32_t detected = 0;
    for (const Flipped& each : flips_) {
      const bool went_on = each.starts && world.alive(each.node);
      detected += went_on ? 0 : 1;
      world.cluster.kill(each.node);
      flip_back(each.flip);
      GCOORD_TRY_STATUS(world.start({each.node}));
    }
    return std::to_string(detected) + " detected, " + std::to_string(flips_.size() - detected) +
           " harmless so far";
  }

  std::uint64_t felt() const override { return flips_.size(); }

 private:
  struct Flipped {
    std::uint32_t node;
    BitFlip flip;
    bool starts = false;
  };

  std::string folder_;
  std::vector<Flipped> flips_;
};

// Another directory where the node's was. It must not be served from: the node is refused by its
// peers and ends, saying so.
class OtherDisk : public Fault {
 public:
  std::chrono::milliseconds hold(Draw&) override { return std::chrono::milliseconds{0}; }

  Result<std::string> heal(LiveWorld& world) override {
    const auto exit = world.cluster.wait_exit(node_, kRefusedWithin);
    world.cluster.kill(node_);
    const fs::path disk = world.shim(node_).disk();
    std::error_code failed;
    fs::remove_all(disk, failed);
    fs::rename(aside(world), disk, failed);
    GCOORD_TRY_STATUS(clear_undo(world.shim(node_).undo()));
    GCOORD_TRY_STATUS(world.start({node_}));
    if (exit.value_or(0) == 0) {
      return Status{StatusCode::Internal,
                    name_nodes({node_}) + " was not refused with a directory that forgot"};
    }
    return std::string{"refused"};
  }

  std::uint64_t felt() const override { return 1; }

 protected:
  fs::path aside(const LiveWorld& world) const {
    fs::path path = world.shims[node_ - 1]->disk();
    return path += ".aside";
  }

  std::uint32_t node_ = 1;
};

class ReplacedDisk final : public OtherDisk {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    node_ = world.claim(draw, 1).front();
    world.stop(node_);
    fs::rename(world.shim(node_).disk(), aside(world));
    GCOORD_TRY_STATUS(clear_undo(world.shim(node_).undo()));
    GCOORD_TRY_STATUS(world.cluster.spawn(node_));
    return "the disk of " + name_nodes({node_}) + " replaced by an empty one";
  }
};

class OldDisk final : public OtherDisk {
 public:
  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    node_ = world.claim(draw, 1).front();
    const fs::path disk = world.shim(node_).disk();
    const fs::path image = disk.string() + ".image";
    world.stop(node_);
    std::error_code failed;
    fs::remove_all(image, failed);
    failed = copy_directory(disk, image);
    if (failed) {
      return Status{StatusCode::Unavailable, "cannot copy a directory: " + failed.message()};
    }
    // Long enough to promise something that the image does not know.
    GCOORD_TRY_STATUS(world.start({node_}));
    std::this_thread::sleep_for(draw.milliseconds(1500, 3000));
    world.stop(node_);
    fs::rename(disk, aside(world));
    fs::rename(image, disk);
    GCOORD_TRY_STATUS(clear_undo(world.shim(node_).undo()));
    GCOORD_TRY_STATUS(world.cluster.spawn(node_));
    return "an image of the disk of " + name_nodes({node_}) + " from before comes back";
  }
};

// Replaces the value that follows a flag.
void set_flag(std::vector<std::string>& arguments,
              const std::string& flag,
              const std::string& value) {
  const auto found = std::find(arguments.begin(), arguments.end(), flag);
  if (found != arguments.end()) {
    *(found + 1) = value;
  }
}

// A second process that should not be: it must be refused and end, and nothing may come of it.
class Intruder final : public Fault {
 public:
  enum class Kind : std::uint8_t { SameDirectory, SameId, OtherCluster };

  explicit Intruder(Kind kind) : kind_(kind) {}

  Result<std::string> inject(LiveWorld& world, Draw& draw) override {
    const std::uint32_t node = world.claim(draw, 1).front();
    ChildOptions child;
    child.arguments = world.cluster.arguments(node);
    for (const char* flag : {"--listen-client", "--listen-peer", "--listen-metrics"}) {
      set_flag(child.arguments, flag, "127.0.0.1:0");
    }
    if (kind_ == Kind::SameId) {
      // With port 0 it would be refused for that, and never meet a peer.
      GCOORD_TRY(const auto ports, free_ports(1));
      set_flag(child.arguments, "--listen-peer", "127.0.0.1:" + std::to_string(ports.front()));
    }
    folder_ = world.cluster.directory() / "intruder";
    fs::remove_all(folder_);
    if (kind_ != Kind::SameDirectory) {
      set_flag(child.arguments, "--data-dir", folder_.string());
    }
    if (kind_ == Kind::OtherCluster) {
      set_flag(child.arguments, "--cluster-name", "another");
    }
    set_flag(child.arguments, "--trace", (world.cluster.directory() / "intruder.trace").string());
    log_ = world.cluster.directory() / "intruder.log";
    fs::remove(log_);
    child.capture_output = true;
    child.error_file = log_.string();
    child.group = true;
    GCOORD_TRY(auto process, ChildProcess::start(child));
    process_.push_back(std::move(process));
    return what() + name_nodes({node});
  }

  Result<std::string> heal(LiveWorld&) override {
    const auto exit = process_.front().wait_for(kRefusedWithin);
    process_.clear();
    std::ifstream in{log_};
    const std::string log{std::istreambuf_iterator<char>{in}, {}};
    // While a node is down too few may refuse it to end it (docs/adr/0120).
    const bool waits = log.find("refuses this node") != std::string::npos;
    const bool refused =
        waits || log.find(kind_ == Kind::SameId ? "GC3005" : "GC") != std::string::npos;
    const bool lives_on = kind_ != Kind::OtherCluster && !waits && exit.value_or(0) == 0;
    if (lives_on || !refused) {
      return Status{StatusCode::Internal, what() + "it was not refused"};
    }
    return std::string{exit.has_value() ? "refused, and ended" : "refused, and kept waiting"};
  }

  std::uint64_t felt() const override { return 1; }

 private:
  std::string what() const {
    switch (kind_) {
      case Kind::SameDirectory:
        return "a second process on the directory of ";
      case Kind::SameId:
        return "a second process that calls itself ";
      case Kind::OtherCluster:
        return "a node of another cluster calls as ";
    }
    return {};
  }

  Kind kind_;
  fs::path folder_;
  fs::path log_;
  std::vector<ChildProcess> process_;
};

FaultClass intruder(std::string_view name, std::string_view table, Intruder::Kind kind) {
  return {name, table, false, [kind] { return std::make_unique<Intruder>(kind); }, {}};
}

FaultClass rot(std::string_view name, std::string folder) {
  return {name, "4", false, [folder] { return std::make_unique<Rot>(folder); }, {}};
}

}  // namespace

std::vector<FaultClass> file_faults() {
  return {rot("rot-log", "wal"),
          rot("rot-checkpoint", "checkpoint"),
          {"replaced-disk", "24", false, [] { return std::make_unique<ReplacedDisk>(); }, {}},
          {"old-disk", "25", false, [] { return std::make_unique<OldDisk>(); }, {}},
          intruder("same-directory", "26", Intruder::Kind::SameDirectory),
          intruder("same-id", "26", Intruder::Kind::SameId),
          intruder("other-cluster", "27", Intruder::Kind::OtherCluster)};
}

}  // namespace gcoord::chaos
