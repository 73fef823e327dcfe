#include "ledger/trees/trees.h"

#include "common/assert.h"
#include "common/device/prefetch.h"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>

namespace gcoord::ledger {
namespace {

Status invalid(std::string what) {
  return {StatusCode::InvalidArgument, std::move(what)};
}

// Adds up what is carved, or carves it.
struct Columns {
  RegionArena* arena = nullptr;  // None: add up.
  std::size_t bytes = 0;

  template <typename T>
  void place(T*& column, std::size_t count) {
    bytes += RegionArena::bytes_for<T>(count);
    if (arena != nullptr) {
      column = arena->column<T>(count);
    }
  }
};

}  // namespace

Result<std::unique_ptr<MerkleTrees>> MerkleTrees::make(std::unique_ptr<MerkleDevice> device,
                                                       const MerkleLimits& limits) {
  if (limits.shard_count == 0 || limits.leaves_max == 0 || limits.levels == 0 ||
      limits.levels >= kMerkleLevelsMax) {
    return invalid("trees need shards, leaves and 1 to 63 levels");
  }
  std::unique_ptr<MerkleTrees> trees(new MerkleTrees(std::move(device), limits));
  GCOORD_TRY_STATUS(trees->allocate());
  return trees;
}

Status MerkleTrees::allocate() {
  const std::size_t shards = limits_.shard_count;
  const std::size_t leaves = limits_.leaves_max;
  const std::size_t runs = std::min(shards, leaves);
  const auto place = [&](Columns& columns) {
    columns.place(turn_.table.size, shards);
    columns.place(turn_.table.peak, shards * limits_.levels);
    columns.place(run_shard_, runs);
    columns.place(run_first_, runs + 1);
    columns.place(leaves_, leaves);
    columns.place(payload_, (limits_.payload_bytes_max + 3) / 4 * 4);
    columns.place(turn_.leaf_hashes, leaves + runs);
    columns.place(turn_.nodes[0], leaves + runs);
    columns.place(turn_.nodes[1], leaves + runs);
    columns.place(turn_.kept, kept_max(leaves, runs));
    columns.place(turn_.kept_count, 1);
    columns.place(roots_, runs);
  };
  Columns sum;
  place(sum);
  memory_bytes_ = sum.bytes;
  // The columns that come first: a shard with a few entries has a row in each of these levels.
  constexpr std::uint32_t kDenseLevels = 8;
  const std::size_t dense =
      RegionArena::bytes_for<std::uint64_t>(shards) +
      RegionArena::bytes_for<Sha256Words>(shards * std::min(limits_.levels, kDenseLevels));
  GCOORD_TRY(std::byte* const base, device_->reserve(sum.bytes, dense));
  RegionArena arena(base, sum.bytes);
  Columns carved{&arena};
  place(carved);
  turn_.table.shard_count = limits_.shard_count;
  turn_.table.levels = limits_.levels;
  turn_.run_shard = run_shard_;
  turn_.run_first = run_first_;
  turn_.leaves = leaves_;
  turn_.payload = payload_;
  named_in_.resize(shards);
  return {};
}

Status MerkleTrees::check_run(const MerkleRuns& runs, std::uint32_t run) const {
  const std::uint32_t shard = runs.shard[run];
  const auto name = [run] { return "run " + std::to_string(run); };  // Nearly never wanted.
  if (shard >= limits_.shard_count || named_in_[shard] == takes_) {
    return invalid(name() + " names shard " + std::to_string(shard) +
                   (shard < limits_.shard_count ? " again" : ", which does not exist"));
  }
  if (runs.first[run] >= runs.first[run + 1] || runs.first[run + 1] > runs.leaves.size()) {
    return invalid(name() + " has no leaf, or more than there are");
  }
  for (std::uint32_t k = runs.first[run]; k < runs.first[run + 1]; ++k) {
    const LeafExtent& leaf = runs.leaves[k];
    if (leaf.offset % 4 != 0 || leaf.offset > runs.payload.size() ||
        leaf.length > runs.payload.size() - leaf.offset) {
      return invalid("leaf " + std::to_string(k) + " is not in the payload, or off its alignment");
    }
  }
  return {};
}

Status MerkleTrees::check(const MerkleRuns& runs) {
  if (runs.leaves.size() > limits_.leaves_max || runs.payload.size() > limits_.payload_bytes_max) {
    return {StatusCode::ResourceExhausted, "more entries than a turn of these trees takes"};
  }
  if (runs.first.size() != runs.shard.size() + 1 || runs.first.front() != 0 ||
      runs.first.back() != runs.leaves.size()) {
    return invalid("the runs do not divide the leaves");
  }
  ++takes_;
  // All at once: they lie anywhere, and checking would wait for one after the other.
  for (const std::uint32_t shard : runs.shard) {
    if (shard < limits_.shard_count) {
      prefetch(&named_in_[shard]);
      prefetch(&sizes_[shard]);
    }
  }
  for (std::uint32_t run = 0; run < runs.shard.size(); ++run) {
    GCOORD_TRY_STATUS(check_run(runs, run));
    named_in_[runs.shard[run]] = takes_;
  }
  return {};
}

Status MerkleTrees::take(const MerkleRuns& runs) {
  GCOORD_TRY_STATUS(check(runs));
  count_appends();
  appended_ = false;
  GCOORD_TRY_STATUS(device_->copy_in(run_shard_, runs.shard.data(), runs.shard.size_bytes()));
  GCOORD_TRY_STATUS(device_->copy_in(run_first_, runs.first.data(), runs.first.size_bytes()));
  GCOORD_TRY_STATUS(device_->copy_in(leaves_, runs.leaves.data(), runs.leaves.size_bytes()));
  GCOORD_TRY_STATUS(device_->copy_in(payload_, runs.payload.data(), runs.payload.size_bytes()));
  turn_.run_count = static_cast<std::uint32_t>(runs.shard.size());
  shard_of_run_.assign(runs.shard.begin(), runs.shard.end());
  first_of_run_.assign(runs.first.begin(), runs.first.end());
  run_max_ = 0;
  for (std::uint32_t run = 0; run < turn_.run_count; ++run) {
    run_max_ = std::max(run_max_, added(run));
  }
  return {};
}

// What was appended, counted shard by shard. Not with every append: a million shards are a
// millisecond of the host's, a multiple of what the device takes for them.
void MerkleTrees::count_appends() {
  for (std::uint32_t run = 0; run < turn_.run_count && appends_ != 0; ++run) {
    sizes_[shard_of_run_[run]] += appends_ * added(run);
  }
  appends_ = 0;
}

// Whether every tree has room for another append. The bound says so as long as it is far away.
Status MerkleTrees::check_sizes() {
  if ((size_bound_ + run_max_) >> limits_.levels == 0) {
    return {};
  }
  count_appends();
  size_bound_ = *std::ranges::max_element(sizes_);
  for (std::uint32_t run = 0; run < turn_.run_count; ++run) {
    if ((sizes_[shard_of_run_[run]] + added(run)) >> limits_.levels != 0) {
      return {StatusCode::ResourceExhausted, "a tree has no level for so many leaves"};
    }
  }
  return {};
}

Status MerkleTrees::append() {
  GCOORD_TRY_STATUS(check_sizes());
  ++appends_;
  appended_ = true;
  size_bound_ += run_max_;
  return device_->append(turn_);
}

Status MerkleTrees::fold_roots() {
  return device_->fold_roots(turn_, roots_);
}

Result<std::vector<Sha256Words>> MerkleTrees::roots() {
  std::vector<Sha256Words> roots(turn_.run_count);
  GCOORD_TRY_STATUS(device_->copy_out(roots.data(), roots_, roots.size() * sizeof(Sha256Words)));
  return roots;
}

Result<std::vector<Sha256Words>> MerkleTrees::leaf_hashes() {
  if (!appended_) {
    return Status{StatusCode::FailedPrecondition,
                  "the entries taken last have not been appended yet"};
  }
  count_appends();
  const std::uint32_t leaf_count = turn_.run_count == 0 ? 0 : first_of_run_[turn_.run_count];
  std::vector<Sha256Words> places(leaf_count + turn_.run_count);
  GCOORD_TRY_STATUS(
      device_->copy_out(places.data(), turn_.leaf_hashes, places.size() * sizeof(Sha256Words)));
  std::vector<Sha256Words> hashes;
  hashes.reserve(leaf_count);
  for (std::uint32_t run = 0; run < turn_.run_count; ++run) {
    const std::uint32_t count = added(run);
    const std::uint64_t before = sizes_[shard_of_run_[run]] - count;
    const std::size_t place = leaf_place(first_of_run_[run], run, before);
    for (std::uint32_t k = 0; k < count; ++k) {
      hashes.push_back(places[place + k]);
    }
  }
  return hashes;
}

// Of many shards whole columns are moved: a copy costs a call, on a GPU much more than that.
bool MerkleTrees::by_columns(std::size_t shard_count, std::size_t width) {
  return shard_count * 16 >= width;
}

Result<std::vector<MerkleFrontier>> MerkleTrees::frontiers(std::span<const std::uint32_t> shards) {
  count_appends();
  std::vector<MerkleFrontier> frontiers(shards.size());
  std::uint64_t levels = 0;  // A bit for each that some tree has a peak at.
  for (std::size_t k = 0; k < shards.size(); ++k) {
    frontiers[k].size = sizes_[shards[k]];
    frontiers[k].peaks.reserve(static_cast<std::size_t>(std::popcount(frontiers[k].size)));
    levels |= frontiers[k].size;
  }
  if (shards.empty()) {
    return frontiers;
  }
  // Those that are asked for at once mostly lie side by side.
  const auto [low, high] = std::minmax_element(shards.begin(), shards.end());
  const std::size_t width = std::size_t{*high} - *low + 1;
  const bool whole = by_columns(shards.size(), width);
  std::vector<Sha256Words> column(whole ? width : 1);
  for (std::uint32_t level = limits_.levels; level-- > 0;) {
    if ((levels >> level & 1) == 0) {
      continue;
    }
    if (whole) {
      GCOORD_TRY_STATUS(device_->copy_out(
          column.data(), &turn_.table.peak_of(level, *low), column.size() * sizeof(Sha256Words)));
    }
    for (std::size_t k = 0; k < shards.size(); ++k) {
      if ((frontiers[k].size >> level & 1) == 0) {
        continue;
      }
      if (!whole) {
        GCOORD_TRY_STATUS(device_->copy_out(
            column.data(), &turn_.table.peak_of(level, shards[k]), sizeof(Sha256Words)));
      }
      frontiers[k].peaks.push_back(hash_of_words(column[whole ? shards[k] - *low : 0]));
    }
  }
  return frontiers;
}

Status MerkleTrees::restore(std::span<const std::uint32_t> shards,
                            std::span<const MerkleFrontier> frontiers) {
  count_appends();
  appended_ = false;
  std::uint64_t levels = 0;
  for (std::size_t k = 0; k < shards.size(); ++k) {
    GCOORD_ASSERT(frontiers[k].sane() && frontiers[k].size >> limits_.levels == 0);
    sizes_[shards[k]] = frontiers[k].size;
    size_bound_ = std::max(size_bound_, frontiers[k].size);
    levels |= frontiers[k].size;
  }
  const bool whole = by_columns(shards.size(), limits_.shard_count);
  std::vector<Sha256Words> column(whole ? limits_.shard_count : 1);
  std::vector<std::size_t> peak(shards.size());  // The next of each frontier.
  for (std::uint32_t level = limits_.levels; level-- > 0;) {
    if ((levels >> level & 1) == 0) {
      continue;
    }
    const std::size_t bytes = column.size() * sizeof(Sha256Words);
    if (whole) {
      GCOORD_TRY_STATUS(device_->copy_out(column.data(), &turn_.table.peak_of(level, 0), bytes));
    }
    for (std::size_t k = 0; k < shards.size(); ++k) {
      if ((frontiers[k].size >> level & 1) == 0) {
        continue;
      }
      column[whole ? shards[k] : 0] = words_of_hash(frontiers[k].peaks[peak[k]++]);
      if (!whole) {
        GCOORD_TRY_STATUS(
            device_->copy_in(&turn_.table.peak_of(level, shards[k]), column.data(), bytes));
      }
    }
    if (whole) {
      GCOORD_TRY_STATUS(device_->copy_in(&turn_.table.peak_of(level, 0), column.data(), bytes));
    }
  }
  if (whole) {
    return device_->copy_in(turn_.table.size, sizes_.data(), sizes_.size() * sizeof sizes_[0]);
  }
  for (const std::uint32_t shard : shards) {
    GCOORD_TRY_STATUS(device_->copy_in(&turn_.table.size[shard], &sizes_[shard], sizeof sizes_[0]));
  }
  return {};
}

Result<std::vector<KeptNode>> MerkleTrees::kept() {
  std::uint32_t count = 0;
  GCOORD_TRY_STATUS(device_->copy_out(&count, turn_.kept_count, sizeof count));
  std::vector<KeptNode> nodes(count);
  GCOORD_TRY_STATUS(device_->copy_out(nodes.data(), turn_.kept, count * sizeof(KeptNode)));
  std::sort(nodes.begin(), nodes.end(), [](const KeptNode& a, const KeptNode& b) {
    return std::tie(a.shard, a.level, a.index) < std::tie(b.shard, b.level, b.index);
  });
  return nodes;
}

}  // namespace gcoord::ledger
