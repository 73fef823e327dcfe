#include "server/node/dear_requests.h"

#include "server/interfaces/replies.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace gcoord::server {

DearRequests::DearRequests(protocol::ReplySink& replies,
                           SlowRequests& slow,
                           MetricsRegistry& metrics)
    : replies_(replies),
      slow_(slow),
      waiting_gauge_(metrics.gauge({"gcoord_server_dear_requests_waiting",
                                    "Status requests, lists, saves and reads of the past that "
                                    "wait for their turn.",
                                    "",
                                    ""})),
      served_(metrics.counter({"gcoord_server_dear_requests_total",
                               "Status requests, lists, saves and reads of the past that had "
                               "their turn.",
                               "",
                               ""})),
      refused_(metrics.counter({"gcoord_server_dear_requests_refused_total",
                                "Status requests, lists, saves and reads of the past that were "
                                "refused because too many waited.",
                                "",
                                ""})) {}

std::size_t DearRequests::places_of_one() const {
  const std::size_t even =
      std::max<std::size_t>(1, kDearMax / std::max<std::size_t>(1, by_connection_.size()));
  return waiting_ < kDearMax ? kDearPerConnection : std::min(kDearPerConnection, even);
}

void DearRequests::count(std::size_t waiting) {
  waiting_ = waiting;
  waiting_gauge_.set(static_cast<std::int64_t>(waiting));
}

void DearRequests::add(const ClientRequest& request, std::uint64_t now_us) {
  if (request.payload.size() > kDearPayloadBytesMax) {
    replies_.reply(
        request.connection, error_reply(request.slot, protocol::ErrorCode::PayloadMalformed), {});
    return;
  }
  const auto found = by_connection_.find(request.connection);
  if (found != by_connection_.end() && found->second->requests.size() >= places_of_one()) {
    refused_.add();
    replies_.reply(
        request.connection, error_reply(request.slot, protocol::ErrorCode::Overloaded), {});
    return;
  }
  Lines::iterator line;
  if (found == by_connection_.end()) {
    line = lines_.insert(lines_.end(), {request.connection, {}});
    by_connection_.emplace(request.connection, line);
  } else {
    line = found->second;
  }
  line->requests.push_back(
      {request.slot, {request.payload.begin(), request.payload.end()}, now_us});
  count(waiting_ + 1);
}

void DearRequests::look_at_time(protocol::ConnectionId connection,
                                const Waiting& next,
                                std::uint64_t now_us) {
  if (slow_.is_slow(next.since_us, now_us)) {
    slow_.add({.connection = connection,
               .request = next.slot,
               .started_us = next.since_us,
               .spent = "in the queue of dear requests",
               .name = {}},
              now_us);
  }
}

void DearRequests::on_room(protocol::ConnectionId connection) {
  const auto found = by_connection_.find(connection);
  if (found != by_connection_.end() && found->second->aside) {
    found->second->aside = false;
    lines_.splice(lines_.end(), aside_, found->second);
  }
}

// The first line goes to the end, if anything of it is left, or aside. Whether a request of it was
// served.
bool DearRequests::serve_first(std::uint64_t now_us) {
  Line& line = lines_.front();
  const std::optional<std::size_t> backlog = replies_.backlog_bytes(line.connection);
  if (backlog.value_or(0) >= kDearBacklogBytes) {
    line.aside = true;
    aside_.splice(aside_.end(), lines_, lines_.begin());
    return false;
  }
  std::optional<Waiting> next;
  if (!backlog.has_value()) {
    count(waiting_ - line.requests.size());
    line.requests.clear();
  } else {
    next = std::move(line.requests.front());
    line.requests.pop_front();
    count(waiting_ - 1);
  }
  const protocol::ConnectionId connection = line.connection;
  if (line.requests.empty()) {
    by_connection_.erase(connection);
    lines_.pop_front();
  } else {
    lines_.splice(lines_.end(), lines_, lines_.begin());
  }
  if (!next.has_value()) {
    return false;
  }
  served_.add();
  served_last_ = connection;
  look_at_time(connection, *next, now_us);
  handler_({connection, next->slot, next->payload});  // May close the connection, never add.
  return true;
}

// Another part of what is under way, or the next request. Lines that are passed over leave those
// that are looked at, so this ends.
bool DearRequests::serve_one(std::uint64_t now_us) {
  if (parts_.under_way()) {
    parts_.go_on();
    return true;
  }
  while (!lines_.empty()) {
    if (serve_first(now_us)) {
      return true;
    }
  }
  return false;
}

// Whose request is next, or under way.
std::optional<protocol::ConnectionId> DearRequests::next() const {
  if (parts_.under_way()) {
    return served_last_;
  }
  return lines_.empty() ? std::nullopt : std::optional{lines_.front().connection};
}

bool DearRequests::serve(std::uint64_t now_us, const Others& others) {
  share_.begin_pass(now_us);
  const auto whose = next();
  if (!whose) {
    return false;
  }
  const bool beside_others = others(*whose);
  if (beside_others && !share_.open(now_us)) {
    return false;
  }
  const std::size_t most = beside_others ? 1 : kDearPerPass;
  std::size_t served = 0;
  while (served < most && serve_one(now_us)) {
    ++served;
  }
  if (served > 0) {
    share_.use();
  }
  return served > 0;
}

std::uint64_t DearRequests::until_next_us(std::uint64_t now_us) const {
  if (!next()) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return share_.from_us() - std::min(share_.from_us(), now_us);
}

}  // namespace gcoord::server
