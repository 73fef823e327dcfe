#include "cli/ledger/fsck.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/shard_head.h"
#include "ledger/tiles/hidden_entry.h"
#include "ledger/tiles/tlog_tiles.h"
#include "server/history/record_text.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

namespace gcoord::cli {
namespace {

using ledger::kTileWidth;
using ledger::TilePath;

class LogCheck {
 public:
  LogCheck(const LedgerAddress& place, std::optional<std::uint32_t> shard, FsckReport& report)
      : place_(place), shard_(shard), report_(report) {
    ++report_.logs;
  }

  // Nothing if the log cannot be opened; why is in the report.
  std::optional<OpenLog> open(const ProofTrust& trust) {
    auto log = open_log(place_, shard_, trust);
    if (log.ok()) {
      return std::move(log).value();
    }
    if (log.status().detail() == ledger::kLedgerPruned) {
      ++report_.unkept;
      return std::nullopt;
    }
    fault(log.status());
    if (log.status().detail() == ledger::kTileHash) {
      search_edge(trust);
    }
    return std::nullopt;
  }

  void check_entries(const OpenLog& log) {
    for (std::uint64_t tile = 0; tile * kTileWidth < log.checkpoint.size; ++tile) {
      check_bundle(log, tile);
    }
  }

  // Of a tree that ends below the horizon: nothing there says whether it was right.
  void pass_over_head() { ++report_.heads_pruned; }

  void fault(const Status& status) {
    report_.faults.push_back({log_folder(shard_), status.detail(), status.message()});
  }

 private:
  void check_bundle(const OpenLog& log, std::uint64_t tile) {
    const std::uint64_t begin = tile * kTileWidth;
    const std::uint64_t count = std::min<std::uint64_t>(kTileWidth, log.checkpoint.size - begin);
    const auto bundle = log.reader->bundle(tile);
    if (!bundle.ok() && bundle.status().detail() == ledger::kLedgerPruned) {
      report_.pruned += count;
      return;
    }
    if (!bundle.ok()) {
      fault(bundle.status());
      return;
    }
    const auto& [entries, wrong, hidden] = bundle.value();
    for (const std::uint64_t index : wrong) {
      fault(Status{StatusCode::DataLoss,
                   "entry " + std::to_string(index) + " is not the one that was hashed",
                   ledger::kEntryHash});
    }
    report_.entries += count - wrong.size() - hidden.size();
    report_.hidden += hidden.size();
    if (shard_ && wrong.empty()) {
      report_.unread += static_cast<std::uint64_t>(
          std::count_if(entries.begin(), entries.end(), [](const auto& entry) {
            return server::record_facts(entry).front().second == "unknown";
          }));
    }
  }

  // The tiles at the edge do not lead to the root: which hash of which of them is not what is below
  // it?
  void search_edge(const ProofTrust& trust) {
    const auto source = open_source(place_, log_folder(shard_));
    if (!source.ok()) {
      return;
    }
    const auto note = read_text(*source.value(), "checkpoint", ledger::kNoteBytesMax);
    const auto checkpoint =
        note.ok() ? read_checkpoint(note.value(), shard_, trust) : note.status();
    if (!checkpoint.ok()) {
      return;
    }
    for (std::uint32_t level = 0; level < ledger::kTileLevels; ++level) {
      const std::uint64_t hashes = checkpoint.value().size >> (level * ledger::kTileHeight);
      const auto width = static_cast<std::uint32_t>(hashes % kTileWidth);
      if (width != 0) {
        search_tile(*source.value(), {TilePath::Kind::Hashes, level, hashes / kTileWidth, width});
      }
    }
  }

  void search_tile(const ledger::TileSource& source, const TilePath& path) {
    const auto bytes = source.read(to_string(path), ledger::tile_bytes_max(path));
    const auto hashes = bytes.ok() ? ledger::decode_tile(bytes.value(), path.width)
                                   : Result<std::vector<ledger::MerkleHash>>{bytes.status()};
    const auto below = hashes.ok() ? hashes_below(source, path)
                                   : Result<std::vector<ledger::MerkleHash>>{hashes.status()};
    if (!below.ok()) {
      return;  // Said already, or nothing to compare with.
    }
    for (std::size_t i = 0; i < path.width; ++i) {
      if (hashes.value()[i] != below.value()[i]) {
        fault(Status{StatusCode::DataLoss,
                     "hash " + std::to_string(i) + " of " + to_string(path) +
                         " does not match the hashes below it",
                     ledger::kTileHash});
      }
    }
  }

  // What the hashes of a tile should be, by its entries or by the full tiles under it.
  static Result<std::vector<ledger::MerkleHash>> hashes_below(const ledger::TileSource& source,
                                                              const TilePath& path) {
    std::vector<ledger::MerkleHash> hashes;
    if (path.level == 0) {
      TilePath entries = path;
      entries.kind = TilePath::Kind::Entries;
      GCOORD_TRY(const auto bytes,
                 source.read(to_string(entries), ledger::tile_bytes_max(entries)));
      GCOORD_TRY(const auto bundle, ledger::decode_bundle(bytes, path.width));
      for (const auto& entry : bundle) {
        hashes.push_back(ledger::leaf_of_entry(entry));
      }
      return hashes;
    }
    for (std::uint32_t i = 0; i < path.width; ++i) {
      const TilePath child{.level = path.level - 1, .index = path.index * kTileWidth + i};
      GCOORD_TRY(const auto bytes, source.read(to_string(child), ledger::tile_bytes_max(child)));
      GCOORD_TRY(auto tile, ledger::decode_tile(bytes, child.width));
      hashes.push_back(ledger::join_hashes(std::move(tile)));
    }
    return hashes;
  }

  const LedgerAddress& place_;
  std::optional<std::uint32_t> shard_;
  FsckReport& report_;
};

// The heads of a cluster log, by shard.
std::map<std::uint32_t, std::vector<ledger::ShardHead>> heads_of(const OpenLog& cluster,
                                                                 LogCheck& check) {
  std::map<std::uint32_t, std::vector<ledger::ShardHead>> heads;
  for (std::uint64_t index = 0; index < cluster.checkpoint.size; index += kTileWidth) {
    const std::uint64_t count =
        std::min<std::uint64_t>(kTileWidth, cluster.checkpoint.size - index);
    const auto leaves = cluster.reader->entries(index, count);
    if (!leaves.ok()) {
      continue;  // check_entries() says why.
    }
    for (const auto& leaf : leaves.value()) {
      const auto head = ledger::decode_head(leaf);
      if (head.ok()) {
        heads[head.value().shard.value].push_back(head.value());
      } else {
        check.fault(head.status());
      }
    }
  }
  return heads;
}

void check_heads(const OpenLog& log, const std::vector<ledger::ShardHead>& heads, LogCheck& check) {
  for (const ledger::ShardHead& head : heads) {
    if (head.size > log.checkpoint.size) {
      continue;  // Newer than the checkpoint that was read before it.
    }
    const auto root = ledger::root_at(*log.reader, head.size);
    if (root.status().detail() == ledger::kLedgerPruned) {
      check.pass_over_head();
    } else if (!root.ok()) {
      check.fault(root.status());
    } else if (root.value() != head.root) {
      check.fault(
          Status{StatusCode::DataLoss,
                 "the cluster log has another root of " + std::to_string(head.size) + " entries",
                 ledger::kProofSplit});
    }
  }
}

// As `ledger export` leaves a directory that was told of no shard.
bool has_no_shard(const LedgerAddress& place) {
  std::error_code ignored;
  return std::filesystem::is_directory(place.ledger, ignored) &&
         !std::filesystem::exists(std::filesystem::path(place.ledger) / "shard", ignored);
}

}  // namespace

void check_log(const LedgerAddress& place,
               std::optional<std::uint32_t> shard,
               const ProofTrust& trust,
               FsckReport& report) {
  LogCheck check(place, shard, report);
  if (const auto log = check.open(trust)) {
    check.check_entries(*log);
  }
}

void check_ledger(const LedgerAddress& place, const ProofTrust& trust, FsckReport& report) {
  LogCheck check(place, std::nullopt, report);
  const auto cluster = check.open(trust);
  if (!cluster) {
    return;
  }
  check.check_entries(*cluster);
  report.cluster_alone = has_no_shard(place);
  if (report.cluster_alone) {
    return;
  }
  for (const auto& [shard, heads] : heads_of(*cluster, check)) {
    LogCheck shard_check(place, shard, report);
    if (const auto log = shard_check.open(trust)) {
      shard_check.check_entries(*log);
      check_heads(*log, heads, shard_check);
    }
  }
}

}  // namespace gcoord::cli
