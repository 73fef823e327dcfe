#include "cli/ledger/export.h"

#include "common/host/exclusive_file.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/tiles/directory_tiles.h"
#include "ledger/tiles/hidden_entry.h"
#include "ledger/tiles/tlog_tiles.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

namespace gcoord::cli {
namespace {

using ledger::kTileWidth;

// Files from a directory, and those that are not there from another source; these are written to
// the directory once somebody has checked them.
class CopyingSource final : public ledger::TileSource {
 public:
  CopyingSource(std::string directory, std::unique_ptr<ledger::TileSource> from)
      : directory_(std::move(directory)), there_(directory_), from_(std::move(from)) {}

  Result<std::vector<std::byte>> read(const std::string& path,
                                      std::size_t bytes_max) const override {
    if (path != "checkpoint") {
      auto found = there_.read(path, bytes_max);
      if (found.ok() || found.status().detail() != ledger::kLedgerAbsent) {
        kept_ += found.ok() ? 1 : 0;
        return found;
      }
    }
    auto found = from_->read(path, bytes_max);
    if (found.ok() && path != "checkpoint") {
      pending_[path] = found.value();
    }
    return found;
  }

  // What has been read up to now was checked.
  Status write() {
    for (const auto& [path, bytes] : pending_) {
      GCOORD_TRY_STATUS(write_file(directory_ + "/" + path,
                                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      ++written_;
    }
    pending_.clear();
    return {};
  }

  std::uint64_t written() const { return written_; }

  std::uint64_t kept() const { return kept_; }

 private:
  std::string directory_;
  ledger::DirectoryTiles there_;
  std::unique_ptr<ledger::TileSource> from_;
  mutable std::map<std::string, std::vector<std::byte>> pending_;
  mutable std::uint64_t kept_ = 0;
  std::uint64_t written_ = 0;
};

Status failed(const std::string& path) {
  return Status{
      StatusCode::Unavailable, path + ": " + std::strerror(errno), ledger::kLedgerUnreachable};
}

// That the log continues what the directory has.
Status check_target(const std::string& folder, const OpenLog& log) {
  const auto there = read_text(ledger::DirectoryTiles(folder), "checkpoint", ledger::kNoteBytesMax);
  if (!there.ok()) {
    return there.status().detail() == ledger::kLedgerAbsent ? Status{} : there.status();
  }
  GCOORD_TRY(const ledger::SignedNote note, ledger::parse_note(there.value()));
  GCOORD_TRY(const ledger::CheckpointNote old, ledger::parse_checkpoint_text(note.text));
  if (old.origin != log.checkpoint.origin) {
    return Status{StatusCode::FailedPrecondition,
                  folder + " holds " + old.origin + ", not " + log.checkpoint.origin,
                  ledger::kExportForeign};
  }
  if (old.size > log.checkpoint.size) {
    return Status{StatusCode::DataLoss,
                  folder + " has " + std::to_string(old.size) + " entries, the log " +
                      std::to_string(log.checkpoint.size),
                  ledger::kProofBackwards};
  }
  GCOORD_TRY(const auto root, ledger::root_at(*log.reader, old.size));
  if (root != old.root) {
    return Status{StatusCode::DataLoss,
                  folder + " has another root of " + std::to_string(old.size) + " entries",
                  ledger::kProofSplit};
  }
  return {};
}

}  // namespace

Status write_file(const std::string& path, const std::string& bytes) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder.empty() ? "." : folder, error);
  const std::string partial = path + ".partial";
  const auto created = create_exclusive_file(partial, 0644);
  if (!created.ok()) {
    return {created.status().code(), created.status().message(), ledger::kLedgerUnreachable};
  }
  const int file = created.value();
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t more = ::write(file, bytes.data() + written, bytes.size() - written);
    if (more <= 0) {
      break;
    }
    written += static_cast<std::size_t>(more);
  }
  const bool whole = written == bytes.size() && ::fsync(file) == 0;
  const Status status = whole ? Status{} : failed(partial);
  ::close(file);
  if (!status.ok()) {
    return status;
  }
  return ::rename(partial.c_str(), path.c_str()) == 0 ? Status{} : failed(path);
}

Result<ExportReport> export_log(const LedgerAddress& place,
                                std::optional<std::uint32_t> shard,
                                const ProofTrust& trust,
                                const std::string& directory) {
  const std::string folder = directory + (shard ? "/" + log_folder(shard) : "");
  GCOORD_TRY(auto from, open_source(place, log_folder(shard)));
  auto copying = std::make_unique<CopyingSource>(folder, std::move(from));
  CopyingSource& copy = *copying;
  GCOORD_TRY(const OpenLog log, open_log(std::move(copying), shard, trust));
  GCOORD_TRY_STATUS(check_target(folder, log));
  const std::uint64_t size = log.checkpoint.size;
  std::uint64_t hidden = 0;
  for (std::uint64_t index = 0; index < size; index += kTileWidth) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kTileWidth, size - index));
    const auto entries = log.reader->entries(index, count);
    if (!entries.ok() && entries.status().detail() == ledger::kLedgerPruned) {
      continue;
    }
    if (!entries.ok()) {
      return entries.status();
    }
    hidden +=
        static_cast<std::uint64_t>(std::ranges::count_if(entries.value(), [](const auto& each) {
          return ledger::parse_hidden_entry(each).has_value();
        }));
    GCOORD_TRY_STATUS(copy.write());
  }
  GCOORD_TRY_STATUS(copy.write());
  GCOORD_TRY_STATUS(write_file(folder + "/checkpoint", log.note));
  return ExportReport{
      .size = size, .written = copy.written(), .kept = copy.kept(), .hidden = hidden};
}

}  // namespace gcoord::cli
