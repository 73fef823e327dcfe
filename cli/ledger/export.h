// Copying a log into a plain directory of tlog-tiles, which any tool of transparency logs reads.
//
// Whatever is written has been checked up to the checkpoint. Files are made under another name and
// renamed, the checkpoint last, so that a directory is at any moment what some checkpoint says or a
// part of what the next one will; an export that was interrupted goes on where it was. One thread.
#pragma once

#include "cli/ledger/source.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

struct ExportReport {
  std::uint64_t size = 0;     // Entries of the log.
  std::uint64_t written = 0;  // Files.
  std::uint64_t kept = 0;     // Files that were there and are right.
  std::uint64_t hidden = 0;   // Entries of which there is a stand-in, for want of a right.
};

// The log into `directory`/log_folder(). ExportForeign if another log is there; ProofBackwards and
// ProofSplit if a newer checkpoint of the log is there, or one that this log does not continue; and
// what makes a log be refused, for files there too, by their path.
Result<ExportReport> export_log(const LedgerAddress& place,
                                std::optional<std::uint32_t> shard,
                                const ProofTrust& trust,
                                const std::string& directory);

// Makes the file, or replaces it, at once and durably.
Status write_file(const std::string& path, const std::string& bytes);

}  // namespace gcoord::cli
