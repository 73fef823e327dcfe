// Demands of one request: the rows of its kind that apply, and the names that they are over.
//
// Names are read by the decoders that the request's handler uses. A shard that the client gives
// (RequestFlag::Moved) says nothing here: a right is over a name, wherever its lock is. Pure; it
// allocates for lists of names and for watches alone. Any thread.
#pragma once

#include "common/ids.h"
#include "protocol/request.h"
#include "protocol/watch_messages.h"
#include "server/rights/demand_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// The facts about a connection and a session.
enum class SessionStanding : std::uint8_t {
  Unproven,  // The connection has neither opened the session nor shown its key.
  Own,
};

constexpr std::uint32_t case_bit(DemandCase when) {
  return std::uint32_t{1} << static_cast<unsigned>(when);
}

static_assert(kDemandCaseCount <= 32);

struct RequestDemands {
  std::span<const DemandRow> rows;  // Of its kind.
  std::uint32_t cases = case_bit(DemandCase::Always);
  bool malformed = false;               // Its payload could not be read.
  std::string_view name;                // The one name,
  std::string text;                     // or the name or prefix of a watch, or of nothing,
  std::vector<std::string_view> names;  // or those of a list, which `is_list` says.
  bool is_list = false;

  bool applies(const DemandRow& row) const {
    return malformed || (cases & case_bit(row.when)) != 0;
  }

  // Of a row with DemandScope::Name or Below, if the request is about one name or prefix.
  std::string_view subject() const { return text.empty() ? name : std::string_view{text}; }
};

// Of a request as it came, checked or not. Views point into the payload.
RequestDemands demands_of(const protocol::RequestSlot& slot,
                          std::span<const std::byte> payload,
                          SessionStanding standing);

// Of a request of a kind about one name, in the case that always applies: to be judged again while
// it waits.
RequestDemands demands_of_name(protocol::RequestKind kind, std::string_view name);

// A watch, however it is written down.
struct WatchSubject {
  protocol::WatchTarget target = protocol::WatchTarget::Name;
  std::string_view text;
  bool queue = false;      // RequestFlag::WatchQueue,
  bool previous = false;   // RequestFlag::WatchPrevious,
  std::uint8_t kinds = 0;  // and WatchQuery::kinds.
  SessionStanding standing = SessionStanding::Unproven;
};

RequestDemands demands_of_watch(const WatchSubject& watch);

// Whether the request begins something, takes from others, or changes what all see. A request that
// gives back or keeps alive does not: it is no harm, and others wait for it.
bool begins_change(const RequestDemands& demands, const protocol::RequestSlot& slot);

}  // namespace gcoord::server
