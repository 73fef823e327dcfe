#include "server/endpoints/ledger_pages.h"

#include "ledger/base/error_details.h"
#include "ledger/tiles/tlog_tiles.h"
#include "protocol/error_codes.h"
#include "server/history/hidden_records.h"

#include <charconv>
#include <optional>

namespace gcoord::server {
namespace {

constexpr std::string_view kShard = "/shard/";
constexpr std::string_view kCheckpoint = "/checkpoint";

struct TilePage {
  std::string_view text;  // "tile/..."
  const MaySeeSecrets& may_see;
};

LedgerPage failure(int status, std::uint32_t detail, const std::string& message) {
  LedgerPage page{.status = status};
  page.body = "GC" + std::to_string(detail) + " " + message + "\n";
  return page;
}

int http_status(const Status& status) {
  switch (status.detail()) {
    case ledger::kLedgerAbsent:
    case ledger::kLedgerBeyond:
      return 404;
    case ledger::kLedgerPruned:
      return 410;
    case ledger::kTilePath:
      return 400;
    case static_cast<std::uint32_t>(protocol::ErrorCode::LedgerUnpublished):
      return 501;
    default:
      return status.code() == StatusCode::Unavailable ? 503 : 500;
  }
}

LedgerPage failure(const Status& status) {
  return failure(http_status(status), status.detail(), status.message());
}

LedgerPage text_page(Result<std::string> text) {
  if (!text.ok()) {
    return failure(text.status());
  }
  LedgerPage page;
  page.body = std::move(text).value();
  return page;
}

LedgerPage absent(const std::string& what) {
  return failure(404, ledger::kLedgerAbsent, what);
}

// `text` is "tile/...".
LedgerPage tile_page(const ledger::TreeReader* reader, std::string_view text) {
  const auto path = ledger::parse_tile_path(text);
  if (!path.ok()) {
    return failure(path.status());
  }
  if (reader == nullptr) {
    return absent("this node keeps no history of it");
  }
  const auto bytes = ledger::tile_at(*reader, path.value());
  if (!bytes.ok()) {
    return failure(bytes.status());
  }
  LedgerPage page{.content_type = "application/octet-stream", .immutable = true};
  page.body.assign(reinterpret_cast<const char*>(bytes.value().data()), bytes.value().size());
  return page;
}

// The number in front of the first '/'; the rest begins with it.
std::optional<ShardId> take_shard(std::string_view& rest, std::uint32_t shard_count) {
  std::uint32_t shard = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), shard);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc{} || rest.substr(0, digits) != std::to_string(shard) ||
      shard >= shard_count) {
    return std::nullopt;
  }
  rest.remove_prefix(digits);
  return ShardId{shard};
}

// Of a shard. Whether a bundle has an entry with a secret is seen by what hides it.
LedgerPage shard_tile_page(const LedgerView& view, ShardId shard, const TilePage& asked) {
  const auto tree = view.shard(shard);
  if (tree == nullptr) {
    return tile_page(nullptr, asked.text);
  }
  const OpenTree open(shard, tree);
  LedgerPage hidden = tile_page(&open, asked.text);
  if (hidden.status != 200 || !open.has_hidden()) {
    return hidden;
  }
  LedgerPage page =
      asked.may_see && asked.may_see() ? tile_page(tree.get(), asked.text) : std::move(hidden);
  page.immutable = false;
  page.secret = true;
  return page;
}

LedgerPage shard_page(const LedgerView& view, std::string_view rest, const MaySeeSecrets& may_see) {
  const auto shard = take_shard(rest, view.shard_count());
  if (!shard) {
    return absent("shards are 0 to " + std::to_string(view.shard_count() - 1));
  }
  if (rest == kCheckpoint) {
    return text_page(view.shard_checkpoint(*shard));
  }
  return rest.starts_with('/') ? shard_tile_page(view, *shard, {rest.substr(1), may_see})
                               : failure(400, ledger::kTilePath, "a path is /shard/N/...");
}

LedgerPage key_page(const LedgerView& view) {
  LedgerPage page;
  for (const std::string& key : view.keys()) {
    page.body += key + "\n";
  }
  return page;
}

}  // namespace

LedgerPage ledger_page(const LedgerView& view,
                       std::string_view path,
                       const MaySeeSecrets& may_see) {
  if (path == kCheckpoint) {
    return text_page(view.checkpoint());
  }
  if (path == "/key") {
    return key_page(view);
  }
  if (path == "/shards") {
    return text_page(std::to_string(view.shard_count()) + "\n");
  }
  if (path.starts_with(kShard)) {
    return shard_page(view, path.substr(kShard.size()), may_see);
  }
  return tile_page(view.cluster_log().get(), path.substr(path.empty() ? 0 : 1));
}

}  // namespace gcoord::server
