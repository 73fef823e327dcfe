// Requests as anybody may send them to a node that checks rights, and replies as they are masked.
//
// An input is a kind, flags, and a payload. Whatever it is, root may make it; who has rights below
// one prefix may make it only over names there; and a payload that cannot be read goes round
// nothing. The same bytes are masked as a reply of each kind: what is left can be read, and is not
// masked any further.
#include "common/assert.h"
#include "server/rights/decision.h"
#include "server/rights/reply_mask.h"
#include "tests/fuzz/fuzz_test_main.h"
#include "tests/server/rights/request_samples.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace {

using namespace gcoord;          // NOLINT: a program of its own.
using namespace gcoord::server;  // NOLINT

constexpr std::string_view kTeam = "jobs/";
constexpr std::size_t kHeadBytes = 4;

const security::RightsOf& team_rights() {
  static const security::RightsOf kRights{
      {{.prefix = std::string{kTeam}, .exact = false, .rights = security::kAllRights}}, 1};
  return kRights;
}

bool of_cluster(const DemandRow& row) {
  return row.scope == DemandScope::Cluster;
}

void judge_request(const protocol::RequestSlot& slot, std::span<const std::byte> payload) {
  for (const auto standing : {SessionStanding::Own, SessionStanding::Unproven}) {
    const RequestDemands demands = demands_of(slot, payload, standing);
    GCOORD_ASSERT(!missing_right(demands, *security::all_rights(), true));
    if (missing_right(demands, team_rights(), true)) {
      continue;
    }
    for (const DemandRow& row : demands.rows) {
      if (!demands.applies(row)) {
        continue;
      }
      GCOORD_ASSERT(!of_cluster(row));
      const bool over_name = row.scope == DemandScope::Name || row.scope == DemandScope::Below;
      GCOORD_ASSERT(!over_name || !demands.malformed);
      if (over_name && !demands.is_list) {
        GCOORD_ASSERT(demands.subject().starts_with(kTeam));
      }
      for (const std::string_view name : demands.names) {
        GCOORD_ASSERT(name.starts_with(kTeam));
      }
    }
  }
}

void mask(std::span<const std::byte> payload) {
  const Viewer viewer{team_rights(), [](SessionId session) { return session.value % 2 == 0; }};
  for (unsigned number = 0; number < 256; ++number) {
    const auto kind = static_cast<protocol::RequestKind>(number);
    if (!is_masked_kind(kind)) {
      continue;
    }
    const auto once = mask_reply(kind, payload, viewer);
    GCOORD_ASSERT(once.has_value());
    if (!once->empty()) {
      GCOORD_ASSERT(mask_reply(kind, *once, viewer) == once);
    }
  }
  const auto events = mask_watch_message(payload, viewer);
  if (!events.empty()) {
    GCOORD_ASSERT(mask_watch_message(events, viewer) == events);
  }
}

}  // namespace

std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  for (const Sample& sample : samples_of({"jobs/1", "jobs/2"})) {
    FuzzInput input(kHeadBytes + sample.payload.size());
    std::memcpy(input.data(), &sample.slot.kind, 2);
    std::memcpy(input.data() + 2, &sample.slot.flags, 2);
    if (!sample.payload.empty()) {
      std::memcpy(input.data() + kHeadBytes, sample.payload.data(), sample.payload.size());
    }
    seeds.push_back(std::move(input));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* start, std::size_t size) {
  const auto bytes = std::as_bytes(std::span{start, size});
  mask(bytes);
  if (size < kHeadBytes) {
    return 0;
  }
  protocol::RequestSlot slot;
  std::memcpy(&slot.kind, start, 2);
  std::memcpy(&slot.flags, start + 2, 2);
  slot.session = size;
  judge_request(slot, bytes.subspan(kHeadBytes));
  mask(bytes.subspan(kHeadBytes));
  return 0;
}
