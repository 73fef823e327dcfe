// Pages of a node's ledger by path: the files of tlog-tiles, made from the node's own state.
//
//   /checkpoint                   the newest checkpoint of the cluster log (a signed note)
//   /tile/...                     tiles and entry bundles of the cluster log
//   /shard/N/checkpoint           a checkpoint of shard N under that one
//   (ledger/notes/shard_note.h) /shard/N/tile/...             tiles and entry bundles of shard N
//   /shards                       how many shards the cluster has
//   /key                          verifier keys, one a line, this node's own first
//
// Status: 200; 400 for what is no path of these; 404 for what the log does not have, or not yet;
// 410 for what was compacted away; 500 for what is damaged; 503 for what cannot be read now. The
// body of a failure is one line with its GC number. Pure, as far as the view is; thread-safe.
#pragma once

#include "server/interfaces/ledger_view.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct LedgerPage {
  int status = 200;
  const char* content_type = "text/plain; charset=utf-8";
  bool immutable = false;  // Never another answer to this path: whoever has it may keep it.
  bool secret = false;     // Another reader may get another answer: nobody may keep it.
  std::string body;
};

// Whether the reader may have entries with secrets whole (server/history/hidden_records.h); called
// for pages that have such entries alone, since the answer costs a signature. Empty: it may not.
using MaySeeSecrets = std::function<bool()>;

LedgerPage ledger_page(const LedgerView& view,
                       std::string_view path,
                       const MaySeeSecrets& may_see = {});

}  // namespace gcoord::server
