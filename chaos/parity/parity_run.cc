#include "chaos/parity/parity_run.h"

#include "chaos/parity/drive.h"
#include "chaos/parity/world.h"
#include "common/json/value.h"
#include "consensus/device/difference.h"
#include "consensus/device/packed_row.h"

#include <chrono>
#include <memory>
#include <vector>

namespace gcoord::chaos {
namespace {

// A log page of 128 entries: far beyond the 32 uncommitted ones that the drive allows.
constexpr ResidentShape kShape{.ages = kResidentAges, .log_slots = 128, .entries_max = 4};

std::string place(std::uint64_t seed, std::uint64_t turn, std::uint32_t node, std::uint32_t row) {
  return "seed " + std::to_string(seed) + ", turn " + std::to_string(turn) + ", node " +
         std::to_string(node + 1) + ", shard " + std::to_string(row) + ": ";
}

// One seed in two worlds.
class ParitySeed {
 public:
  ParitySeed(std::uint64_t seed,
             std::unique_ptr<ResidentWorld> host,
             std::unique_ptr<ResidentWorld> other)
      : seed_(seed),
        host_(std::move(host)),
        other_(std::move(other)),
        drive_(hostile_drive(seed, kShape.entries_max)) {}

  // Runs until the turns are over or the worlds differ, and adds what happened to the report.
  Status run(std::uint32_t turns, ParityReport& report) {
    for (std::uint32_t k = 0; k < turns && report.difference.empty(); ++k) {
      const ResidentTurn turn = drive_.next();
      GCOORD_TRY_STATUS(other_->run(turn));
      GCOORD_TRY_STATUS(host_->run(turn));
      GCOORD_TRY_STATUS(compare(turn.number, report.difference));
      ++report.turns;
    }
    GCOORD_TRY(const std::uint64_t steps, host_->steps());
    report.steps += steps;
    report.restarts += drive_.restarts();
    report.cuts += drive_.cuts();
    if (report.difference.empty()) {
      GCOORD_TRY_STATUS(compare_services(report));
      GCOORD_TRY_STATUS(count_rows(report));
    }
    ++report.seeds;
    return Status{};
  }

 private:
  Status compare(std::uint64_t turn, std::string& difference) {
    for (std::uint32_t node = 0; node < kResidentNodes && difference.empty(); ++node) {
      GCOORD_TRY_STATUS(other_->digests(node, other_digest_));
      GCOORD_TRY_STATUS(host_->digests(node, host_digest_));
      if (host_digest_ != other_digest_) {
        GCOORD_TRY(difference, name_difference(turn, node));
      }
    }
    return Status{};
  }

  Result<std::string> name_difference(std::uint64_t turn, std::uint32_t node) {
    std::uint32_t row = 0;
    while (host_digest_[row] == other_digest_[row]) {
      ++row;
    }
    GCOORD_TRY(const consensus::RowCopy one, host_->row(node, row));
    GCOORD_TRY(const consensus::RowCopy two, other_->row(node, row));
    const std::string field = first_difference(one, two);
    return place(seed_, turn, node, row) +
           (field.empty() ? "the columns are equal, its service or what it is due differs" : field);
  }

  // What the replicas of a shard applied is one history.
  Status compare_services(ParityReport& report) {
    std::vector<Service> service[kResidentNodes];
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      GCOORD_TRY_STATUS(host_->services(node, service[node]));
    }
    for (std::uint32_t row = 0; row < service[0].size(); ++row) {
      for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
        const Service& one = service[node][row];
        const Service& two = service[(node + 1) % kResidentNodes][row];
        report.applied += one.index.value;
        if (one.index == two.index && one.digest != two.digest) {
          report.difference = place(seed_, report.turns, node, row) +
                              "two replicas applied the same index with another result";
          return Status{};
        }
      }
    }
    return Status{};
  }

  Status count_rows(ParityReport& report) {
    for (std::uint32_t node = 0; node < kResidentNodes; ++node) {
      for (std::uint32_t row = 0; row < host_digest_.size(); ++row) {
        GCOORD_TRY(consensus::RowCopy copy, host_->row(node, row));
        consensus::PackedRow packed;
        report.leaders += copy.hot.role == consensus::Role::Leader ? 1u : 0u;
        report.wide_rows +=
            consensus::pack(consensus::ref_of(copy, ShardId{row}, kResidentNodes), packed) ? 0u
                                                                                           : 1u;
      }
    }
    return Status{};
  }

  std::uint64_t seed_;
  std::unique_ptr<ResidentWorld> host_;
  std::unique_ptr<ResidentWorld> other_;
  ResidentDrive drive_;
  std::vector<std::uint64_t> host_digest_;
  std::vector<std::uint64_t> other_digest_;
};

Result<std::unique_ptr<ResidentWorld>> other_world(const ParityOptions& options,
                                                   const ResidentShape& shape) {
  if (options.device < 0) {
    return make_packed_world(shape, shape.shard_count);
  }
  return make_device_world(options.device, shape, shape.shard_count);
}

}  // namespace

Result<ParityReport> run_parity(const ParityOptions& options) {
  ParityReport report;
  report.other = options.device < 0 ? "its packed twin" : "cuda:" + std::to_string(options.device);
  ResidentShape shape = kShape;
  shape.shard_count = options.shard_count;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = options.first_seed;
       report.steps < options.steps_wanted && report.difference.empty();
       ++seed) {
    GCOORD_TRY(auto other, other_world(options, shape));
    ParitySeed one(seed, make_host_world(shape, options.threads), std::move(other));
    GCOORD_TRY_STATUS(one.run(options.turns_per_seed, report));
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return report;
}

std::string to_text(const ParityReport& report, bool json) {
  const Json object = {{"compared", "host and " + report.other},
                       {"equal", report.difference.empty()},
                       {"difference", report.difference},
                       {"shard_steps", report.steps},
                       {"turns", report.turns},
                       {"seeds", report.seeds},
                       {"restarts", report.restarts},
                       {"cuts", report.cuts},
                       {"entries_applied", report.applied},
                       {"leaders_at_ends", report.leaders},
                       {"wide_rows_at_ends", report.wide_rows},
                       {"seconds", report.seconds}};
  return json ? object.dump() : object.dump(2);
}

}  // namespace gcoord::chaos
