#include "chaos/world/bit_flips.h"

#include "chaos/disks/rocksdb_copy.h"
#include "chaos/world/apart.h"
#include "chaos/world/lone_node.h"
#include "chaos/world/world.h"
#include "common/json/members.h"
#include "common/json/text.h"
#include "common/json/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

namespace gcoord::chaos {
namespace {

constexpr unsigned kOpenSecondsMax = 60;

// A bit that was flipped: what it belonged to, and a sentence about where.
struct Flip {
  std::string kind;
  std::string where;
};

std::string kind_of_log_file(const std::string& name) {
  return name.starts_with("wal-") ? "log segment" : "log, other file";
}

// One bit of a file, in what was written or, one time in eight, in the zeros behind it.
Flip flip_file(ledger::MemoryDisk& disk, SimRandom& random, bool of_log) {
  const std::vector<std::string> names = disk.names();
  const std::string& name = names[random.below(static_cast<std::uint32_t>(names.size()))];
  std::vector<std::byte> bytes = disk.image(name);
  std::size_t written = bytes.size();
  while (written > 0 && bytes[written - 1] == std::byte{0}) {
    --written;
  }
  const bool behind = written == 0 || (written < bytes.size() && random.below(8) == 0);
  const std::size_t first = behind ? written : 0;
  const std::size_t length = behind ? bytes.size() - written : written;
  const auto place = first + random.below(static_cast<std::uint32_t>(length));
  const std::uint32_t bit = random.below(8);
  bytes[place] ^= static_cast<std::byte>(1u << bit);
  disk.set_image(name, bytes);
  const std::string kind = of_log ? kind_of_log_file(name) : "identity file";
  return {behind ? kind + ", unused" : kind, fmt::format("{} byte {} bit {}", name, place, bit)};
}

// One bit of one value of the twin store, its checksum included.
Flip flip_value(ledger::CheckpointMedium& medium, SimRandom& random) {
  static constexpr std::array<const char*, 3> kNames = {"hard", "service", "meta"};
  std::size_t which = random.below(8) == 0 ? 2 : random.below(2);
  while (medium.columns[which].empty()) {
    which = (which + 1) % medium.columns.size();
  }
  auto& column = medium.columns[which];
  auto row = column.begin();
  std::advance(row, random.below(static_cast<std::uint32_t>(column.size())));
  const auto place = random.below(static_cast<std::uint32_t>(row->second.size()));
  const std::uint32_t bit = random.below(8);
  row->second[place] ^= static_cast<std::byte>(1u << bit);
  return {std::string("checkpoint value, ") + kNames[which],
          fmt::format("{} value byte {} bit {}", kNames[which], place, bit)};
}

Flip flip_disk(WorldDisk& disk, SimRandom& random) {
  bool has_values = false;
  for (const auto& column : disk.checkpoints.columns) {
    has_values |= !column.empty();
  }
  const std::uint32_t drawn = random.below(10);
  if (drawn < 2 && has_values) {
    return flip_value(disk.checkpoints, random);
  }
  return drawn == 2 ? flip_file(disk.identity, random, false) : flip_file(disk.log, random, true);
}

// The disk of one node of a world that is stopped under load, now and then without power.
std::unique_ptr<WorldDisk> used_disk(const WorldOptions& options, NodeId id, SimRandom& random) {
  World world(options);
  world.load_for(options.safety_ms + random.below(5'000));
  WorldNode& node = world.node(id.value - 1);
  node.stop();
  if (random.below(2) == 0) {
    node.disk().lose_power(random.word());
  }
  return node.disk().copy();
}

WorldOptions world_for_flips(std::uint64_t seed) {
  WorldOptions options = world_of_seed(seed);
  options.durability = consensus::Durability::Durable;
  options.faults = mask_of(FaultClass::Crash) | mask_of(FaultClass::PowerLoss);
  options.safety_ms = 15'000 + seed % 4 * 10'000;  // None to a few checkpoints.
  return options;
}

// Empty, or the first two sentences that differ.
std::string difference(const std::vector<std::string>& with,
                       const std::vector<std::string>& without) {
  for (std::size_t k = 0; k < without.size(); ++k) {
    if (k >= with.size() || with[k] != without[k]) {
      return fmt::format("\"{}\" for \"{}\"", k < with.size() ? with[k] : "nothing", without[k]);
    }
  }
  return {};
}

class Trial {
 public:
  Trial(const WorldOptions& options, NodeId id, std::unique_ptr<WorldDisk> base)
      : node_(options, id), base_(std::move(base)), known_(node_.start(base_->copy())) {}

  const WorldDisk& base() const { return *base_; }

  // Whether the disk opens without a flip; nothing can be said if not.
  bool sound() const { return known_.opened.ok(); }

  const Status& unsound() const { return known_.opened; }

  void judge(const Flip& flip, std::unique_ptr<WorldDisk> disk, FlipCounts& counts) {
    count(flip, open(std::move(disk)), counts);
  }

  // The same, where opening may kill the process.
  void judge_apart(const Flip& flip, std::unique_ptr<WorldDisk> disk, FlipCounts& counts) {
    const ApartResult ended = run_one_apart(
        [&] {
          const Opened opened = open(std::move(disk));
          return fmt::format("{} {}", opened.refusal, opened.difference);
        },
        kOpenSecondsMax);
    if (!ended.death.empty()) {
      ++counts.by_kind[flip.kind][static_cast<std::size_t>(FlipOutcome::Died)];
      return;
    }
    Opened opened;
    std::istringstream words(ended.text);
    words >> opened.refusal;
    words.ignore(1);
    std::getline(words, opened.difference);
    count(flip, opened, counts);
  }

 private:
  struct Opened {
    std::uint32_t refusal = 0;  // Its number; 0: it started.
    std::string difference;
  };

  Opened open(std::unique_ptr<WorldDisk> disk) {
    const LoneNode::Known known = node_.start(std::move(disk));
    if (!known.opened.ok()) {
      return {std::max(known.opened.detail(), 1u), {}};
    }
    return {0, difference(known.facts, known_.facts)};
  }

  static void count(const Flip& flip, const Opened& opened, FlipCounts& counts) {
    FlipOutcome outcome = FlipOutcome::Refused;
    if (opened.refusal != 0) {
      ++counts.by_refusal[fmt::format("GC{}", opened.refusal)];
    } else {
      outcome = opened.difference.empty() ? FlipOutcome::Harmless : FlipOutcome::Wrong;
    }
    ++counts.by_kind[flip.kind][static_cast<std::size_t>(outcome)];
    if (outcome == FlipOutcome::Wrong && counts.first_wrong.empty()) {
      counts.first_wrong =
          fmt::format("recovered {} after a flip in {}", opened.difference, flip.where);
    }
  }

  LoneNode node_;
  std::unique_ptr<WorldDisk> base_;
  LoneNode::Known known_;
};

void flip_in_rocksdb(const FlipPlan& plan, Trial& trial, SimRandom& random, FlipCounts& counts) {
  const RocksDbCopies copies(plan.directory, trial.base().checkpoints);
  if (!copies.made().ok()) {
    counts.first_wrong = "no RocksDB directory: " + copies.made().message();
    return;
  }
  for (std::uint64_t k = 0; k < plan.rocksdb_flips; ++k) {
    auto disk = trial.base().copy();
    disk->rocksdb_directory = copies.copy();
    const FlippedFile flipped = copies.flip(random.word());
    trial.judge_apart({"RocksDB, " + flipped.kind, flipped.where}, std::move(disk), counts);
  }
}

}  // namespace

void FlipCounts::add(const FlipCounts& other) {
  for (const auto& [kind, outcomes] : other.by_kind) {
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
      by_kind[kind][k] += outcomes[k];
    }
  }
  for (const auto& [reason, count] : other.by_refusal) {
    by_refusal[reason] += count;
  }
  first_wrong = first_wrong.empty() ? other.first_wrong : first_wrong;
}

std::uint64_t FlipCounts::total(FlipOutcome outcome) const {
  std::uint64_t sum = 0;
  for (const auto& [kind, outcomes] : by_kind) {
    sum += outcomes[static_cast<std::size_t>(outcome)];
  }
  return sum;
}

FlipCounts flip_bits(const FlipPlan& plan) {
  FlipCounts counts;
  const WorldOptions options = world_for_flips(plan.seed);
  SimRandom random{plan.seed, 5};
  const NodeId id{1 + random.below(options.node_count)};
  Trial trial(options, id, used_disk(options, id, random));
  if (!trial.sound()) {
    counts.first_wrong = fmt::format(
        "seed {}: a disk without a flip does not open: {}", plan.seed, trial.unsound().message());
    return counts;
  }
  for (std::uint64_t k = 0; k < plan.flips; ++k) {
    auto disk = trial.base().copy();
    const Flip flip = flip_disk(*disk, random);
    trial.judge(flip, std::move(disk), counts);
  }
  if (plan.rocksdb_flips > 0) {
    flip_in_rocksdb(plan, trial, random, counts);
  }
  if (!counts.first_wrong.empty()) {
    counts.first_wrong = fmt::format("seed {}: {}", plan.seed, counts.first_wrong);
  }
  return counts;
}

std::string to_text(const FlipCounts& counts) {
  Json kinds = Json::object();
  for (const auto& [kind, outcomes] : counts.by_kind) {
    Json& array = kinds[kind];
    for (const std::uint64_t outcome : outcomes) {
      array.push_back(outcome);
    }
  }
  Json refusals = Json::object();
  for (const auto& [refusal, count] : counts.by_refusal) {
    refusals[refusal] = count;
  }
  return Json{{"by_kind", kinds}, {"by_refusal", refusals}, {"first_wrong", counts.first_wrong}}
      .dump();
}

FlipCounts flip_counts_of(const std::string& text) {
  FlipCounts counts;
  const Json json = parse_json(text);
  JsonMembers kinds(json["by_kind"]);
  for (const JsonMember& kind : json["by_kind"].items()) {
    counts.by_kind[kind.name] = kinds.numbers<std::uint64_t, 4>(kind.name.c_str());
  }
  JsonMembers refusals(json["by_refusal"]);
  for (const JsonMember& refusal : json["by_refusal"].items()) {
    counts.by_refusal[refusal.name] = refusals.number<std::uint64_t>(refusal.name.c_str());
  }
  JsonMembers members(json);
  members.require("first_wrong");
  counts.first_wrong = members.text("first_wrong");
  const bool whole = json["by_kind"].is_object() && json["by_refusal"].is_object() &&
                     kinds.first_wrong().empty() && refusals.first_wrong().empty() &&
                     members.first_wrong().empty();
  if (!whole) {
    counts = {};
    counts.first_wrong = "a process said nothing that can be read";
  }
  return counts;
}

}  // namespace gcoord::chaos
