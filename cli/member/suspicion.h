// Suspicions of failure detectors in words and JSON, as gcoordctl member list prints them. Pure;
// any thread.
#pragma once

#include "common/json/value.h"
#include "gcoord/members.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

// What one node that answered sees of another.
struct Seen {
  std::uint32_t by = 0;
  client::MemberSighting sighting;
};

// "suspect", "doubted", "alive".
std::string verdict_text(client::MemberVerdict verdict);

// $defs/suspicion of docs/reference/schemas/gcoordctl.json.
Json suspicion_json(const client::MemberSuspicion& suspicion);

// Whether the node that looks holds it for failed: by its detector or, where it does not say, by
// its heartbeats.
bool suspects(const Seen& seen);

// How it is seen by all that answered: "alive", "doubted 1/4", "suspect 3/4".
std::string seen_text(const std::vector<Seen>& seen);

// Since any of them heard it itself; empty: none ever did.
std::optional<std::chrono::milliseconds> last_heard(const std::vector<Seen>& seen);

// Why the node is suspect, for people; empty for one that is not, neither in the view nor to any
// node that answered. `now_ms`: Unix milliseconds here.
std::string suspicion_note(const client::MemberDescription& member,
                           const std::vector<Seen>& seen,
                           std::uint64_t now_ms);

}  // namespace gcoord::cli
