#include "cli/ledger/watch.h"

#include "cli/ledger/export.h"
#include "cli/ledger/proof_making.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/proof.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/tiles/directory_tiles.h"

#include <filesystem>

namespace gcoord::cli {
namespace {

// The note in the state file; "" if there is no such file.
Result<std::string> seen_last(const std::string& file) {
  const std::filesystem::path path(file);
  const auto text =
      read_text(ledger::DirectoryTiles(
                    path.parent_path().string().empty() ? "." : path.parent_path().string()),
                path.filename().string(),
                ledger::kNoteBytesMax);
  if (!text.ok() && text.status().detail() == ledger::kLedgerAbsent) {
    return std::string{};
  }
  return text;
}

Result<ledger::CheckpointNote> parse_seen(const std::string& note, const WatchedLog& log) {
  auto seen = read_checkpoint(note, log.shard, log.trust);
  if (!seen.ok()) {
    return Status{
        StatusCode::DataLoss, log.state_file + ": " + seen.status().message(), ledger::kWatchState};
  }
  return seen;
}

Status with_evidence(const WatchedLog& log,
                     const Status& why,
                     const GrowthProof& proof,
                     std::uint64_t size) {
  const std::string file = log.state_file + ".evidence-" + std::to_string(size);
  GCOORD_TRY_STATUS(write_file(file, print_proof(proof)));
  return Status{why.code(), why.message() + "; both checkpoints are kept in " + file, why.detail()};
}

// Whether the log continues what was seen.
Status check_growth(const WatchedLog& watched,
                    const OpenLog& log,
                    const std::string& seen_note,
                    const ledger::CheckpointNote& seen) {
  const auto proof = prove_growth(log, seen_note);
  if (!proof.ok()) {
    return proof.status();
  }
  const Status grown = ledger::verify_consistency({.old_size = seen.size,
                                                   .size = log.checkpoint.size,
                                                   .old_root = seen.root,
                                                   .root = log.checkpoint.root},
                                                  proof.value().consistency);
  return grown.ok() ? grown : with_evidence(watched, grown, proof.value(), log.checkpoint.size);
}

// A log whose files do not even lead to its checkpoint may still contradict what was seen.
Status check_note(const WatchedLog& watched,
                  const std::string& note,
                  const std::string& seen_note) {
  GCOORD_TRY(const auto seen, parse_seen(seen_note, watched));
  GCOORD_TRY(const auto now, read_checkpoint(note, watched.shard, watched.trust));
  if (now.size > seen.size || now == seen) {
    return {};
  }
  const Status why = ledger::verify_consistency(
      {.old_size = seen.size, .size = now.size, .old_root = seen.root, .root = now.root}, {});
  return why.ok() ? why : with_evidence(watched, why, {seen_note, note, {}}, now.size);
}

}  // namespace

Result<Sighting> look_at(const WatchedLog& watched) {
  GCOORD_TRY(const std::string seen_note, seen_last(watched.state_file));
  GCOORD_TRY(auto source, open_source(watched.place, log_folder(watched.shard)));
  if (!seen_note.empty()) {
    GCOORD_TRY(const std::string note, read_text(*source, "checkpoint", ledger::kNoteBytesMax));
    GCOORD_TRY_STATUS(check_note(watched, note, seen_note));
  }
  GCOORD_TRY(const OpenLog log, open_log(std::move(source), watched.shard, watched.trust));
  Sighting sighting{.checkpoint = log.checkpoint, .size_before = 0, .news = true};
  if (!seen_note.empty()) {
    GCOORD_TRY(const auto seen, parse_seen(seen_note, watched));
    GCOORD_TRY_STATUS(check_growth(watched, log, seen_note, seen));
    sighting.size_before = seen.size;
    sighting.news = seen.size != log.checkpoint.size;
  }
  if (sighting.news) {
    GCOORD_TRY_STATUS(write_file(watched.state_file, log.note));
  }
  return sighting;
}

}  // namespace gcoord::cli
