// A log behind --ledger: the port of a node, or a directory with the export of one.
//
// Both have the same files (server/endpoints/ledger_pages.h); what is read is checked against the
// log's checkpoint, and that against the keys, if any were given. One thread.
#pragma once

#include "cli/ledger/proof_check.h"
#include "common/http/client.h"
#include "ledger/tiles/tile_reader.h"
#include "ledger/tiles/tile_source.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::cli {

class HttpConnections;

struct LedgerAddress {
  std::string ledger;  // "http://HOST:PORT", "https://HOST:PORT" or a directory.
  std::chrono::milliseconds timeout{5000};
  HttpTls tls{};  // The files for https.
  // Of all copies of this address, kept between files; nullptr: each source has its own.
  std::shared_ptr<HttpConnections> connections{};
};

// The same address with connections that its copies share.
LedgerAddress with_connections(LedgerAddress place);

// "" for the cluster log, "shard/3" for a shard's: where a log's files are below the ledger.
std::string log_folder(std::optional<std::uint32_t> shard);

// The files below a folder of the ledger.
Result<std::unique_ptr<ledger::TileSource>> open_source(const LedgerAddress& place,
                                                        const std::string& folder);

// A text file of the source, such as a checkpoint.
Result<std::string> read_text(const ledger::TileSource& source,
                              const std::string& path,
                              std::size_t bytes_max);

// A checkpoint as it is believed: with keys, if a quorum of them signed it and it is of the log
// that is meant; without any, for what it says, so that the files are checked only against
// themselves. A node signs checkpoints of shards alone, so one key is enough for these.
Result<ledger::CheckpointNote> read_checkpoint(const std::string& note,
                                               std::optional<std::uint32_t> shard,
                                               const ProofTrust& trust);

// One log at one checkpoint.
struct OpenLog {
  std::unique_ptr<ledger::TileSource> source;
  std::string note;
  ledger::CheckpointNote checkpoint;
  std::unique_ptr<ledger::TileReader> reader;
};

Result<OpenLog> open_log(const LedgerAddress& place,
                         std::optional<std::uint32_t> shard,
                         const ProofTrust& trust);

// The same with a source of one's own.
Result<OpenLog> open_log(std::unique_ptr<ledger::TileSource> source,
                         std::optional<std::uint32_t> shard,
                         const ProofTrust& trust);

}  // namespace gcoord::cli
