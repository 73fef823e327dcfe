#include "cli/ledger/source.h"

#include "cli/ledger/http_tiles.h"
#include "ledger/base/error_details.h"
#include "ledger/tiles/directory_tiles.h"
#include "ledger/tiles/hidden_entry.h"

#include <filesystem>

namespace gcoord::cli {
namespace {

Status wrong_origin(const std::string& found, const std::string& meant) {
  return Status{StatusCode::DataLoss,
                "the checkpoint is of " + found + ", not of " + meant,
                ledger::kHeadOrigin};
}

}  // namespace

std::string log_folder(std::optional<std::uint32_t> shard) {
  return shard ? "shard/" + std::to_string(*shard) : "";
}

LedgerAddress with_connections(LedgerAddress place) {
  if (place.connections == nullptr) {
    place.connections = std::make_shared<HttpConnections>();
  }
  return place;
}

Result<std::unique_ptr<ledger::TileSource>> open_source(const LedgerAddress& place,
                                                        const std::string& folder) {
  const std::string below = folder.empty() ? "" : "/" + folder;
  if (place.ledger.find("://") != std::string::npos) {
    GCOORD_TRY(HttpAddress http, parse_http_place(place.ledger));
    http.prefix += below;
    http.tls = with_files(http.tls, place.tls);
    return std::unique_ptr<ledger::TileSource>(
        place.connections == nullptr
            ? std::make_unique<HttpTiles>(std::move(http), place.timeout)
            : std::make_unique<HttpTiles>(std::move(http), place.timeout, place.connections));
  }
  if (!std::filesystem::is_directory(place.ledger)) {
    return Status{StatusCode::Unavailable,
                  "'" + place.ledger + "' is neither a directory nor http(s)://HOST:PORT",
                  ledger::kLedgerUnreachable};
  }
  return std::unique_ptr<ledger::TileSource>(
      std::make_unique<ledger::DirectoryTiles>(place.ledger + below));
}

Result<std::string> read_text(const ledger::TileSource& source,
                              const std::string& path,
                              std::size_t bytes_max) {
  GCOORD_TRY(const auto bytes, source.read(path, bytes_max));
  return std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<ledger::CheckpointNote> read_checkpoint(const std::string& note,
                                               std::optional<std::uint32_t> shard,
                                               const ProofTrust& trust) {
  GCOORD_TRY(const ledger::SignedNote parsed, ledger::parse_note(note));
  GCOORD_TRY(ledger::CheckpointNote checkpoint, ledger::parse_checkpoint_text(parsed.text));
  const std::string tail = shard ? "/" + log_folder(shard) : "";
  if (!trust.origin.empty() && checkpoint.origin != trust.origin + tail) {
    return wrong_origin(checkpoint.origin, trust.origin + tail);
  }
  if (!checkpoint.origin.ends_with(tail) ||
      (!shard && checkpoint.origin.find("/shard/") != std::string::npos)) {
    return wrong_origin(checkpoint.origin, shard ? log_folder(shard) : "a cluster log");
  }
  if (!trust.keys.empty()) {
    GCOORD_TRY(const auto signers,
               ledger::verify_note(parsed, trust.keys, shard ? 1 : trust.quorum));
  }
  return checkpoint;
}

Result<OpenLog> open_log(std::unique_ptr<ledger::TileSource> source,
                         std::optional<std::uint32_t> shard,
                         const ProofTrust& trust) {
  OpenLog log{.source = std::move(source)};
  GCOORD_TRY(log.note, read_text(*log.source, "checkpoint", ledger::kNoteBytesMax));
  GCOORD_TRY(log.checkpoint, read_checkpoint(log.note, shard, trust));
  GCOORD_TRY(log.reader,
             ledger::TileReader::open(*log.source, log.checkpoint.size, log.checkpoint.root));
  if (shard == ledger::kHidingShard) {
    log.reader->take_stand_ins();
  }
  return log;
}

Result<OpenLog> open_log(const LedgerAddress& place,
                         std::optional<std::uint32_t> shard,
                         const ProofTrust& trust) {
  GCOORD_TRY(auto source, open_source(place, log_folder(shard)));
  return open_log(std::move(source), shard, trust);
}

}  // namespace gcoord::cli
