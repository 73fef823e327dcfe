#include "server/resident/stored/turn_mark.h"

#include <string_view>

namespace gcoord::server {
namespace {

constexpr std::string_view kTurnKey = "turn";
constexpr std::byte kResidentTurn{1};

}  // namespace

Result<bool> is_of_resident_turn(const ledger::CheckpointStore& store) {
  const auto stored = store.get_meta(kTurnKey);
  if (!stored.ok() && stored.status().code() != StatusCode::NotFound) {
    return stored.status();
  }
  return stored.ok();
}

void mark_resident_turn(ledger::CheckpointBatch& batch) {
  batch.put_meta(kTurnKey, {&kResidentTurn, 1});
}

}  // namespace gcoord::server
