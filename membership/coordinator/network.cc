#include "membership/coordinator/network.h"

#include <algorithm>
#include <utility>

namespace gcoord::coordinator {

Network::Network(const NetworkOptions& options) {
  GCOORD_ASSERT(!options.ranks.empty());
  GCOORD_ASSERT(options.ranks.size() <= kNodesMax);
  const auto count = static_cast<std::uint8_t>(options.ranks.size());
  for (std::uint8_t place = 0; place < count; ++place) {
    const std::uint8_t rank = options.ranks[place];
    GCOORD_ASSERT(options.method != Method::Bully || rank == place);
    rows_.push_back({.method = options.method,
                     .self = place,
                     .rank = rank,
                     .node_count = count,
                     .patience_ticks = options.patience_ticks});
  }
  // A rank goes round once to win and once to be told of before a ring may doubt it.
  if (options.method == Method::Ring) {
    for (NodeRow& row : rows_) {
      row.patience_ticks = static_cast<std::uint16_t>(3 * count + options.patience_ticks);
    }
  }
}

void Network::fail(std::uint8_t place) {
  failed_ |= std::uint64_t{1} << place;
  rows_[place].phase = Phase::Idle;
}

void Network::recover(std::uint8_t place) {
  failed_ &= ~(std::uint64_t{1} << place);
  for (NodeRow& row : rows_) {
    row.suspects &= ~(std::uint64_t{1} << place);
  }
  stand(place);
}

void Network::suspect(std::uint8_t place, std::uint8_t failed) {
  Outbox out;
  on_suspicion(rows_[place], failed, tick_, out);
  take(out);
}

void Network::stand(std::uint8_t place) {
  Outbox out;
  coordinator::stand(rows_[place], tick_, out);
  take(out);
}

void Network::take(const Outbox& out) {
  for (std::uint32_t i = 0; i < out.count; ++i) {
    ++traffic_.of_kind[static_cast<std::size_t>(out.messages[i].kind)];
    under_way_.push_back(out.messages[i]);
  }
}

bool Network::passes(const Message& message) const {
  const auto side = [this](std::uint8_t place) { return side_ >> place & 1; };
  return (failed_ >> message.to & 1) == 0 && side(message.from) == side(message.to);
}

bool Network::at_rest() const {
  return under_way_.empty() &&
         std::ranges::all_of(rows_, [](const NodeRow& row) { return row.phase == Phase::Idle; });
}

bool Network::run(std::uint64_t ticks_max, Traffic& traffic) {
  const std::uint64_t began = tick_;
  while (!at_rest() && tick_ - began < ticks_max) {
    ++tick_;
    for (const Message& message : std::exchange(under_way_, {})) {
      if (passes(message)) {
        Outbox out;
        on_message(rows_[message.to], message, tick_, out);
        take(out);
      }
    }
    for (NodeRow& row : rows_) {
      Outbox out;
      on_tick(row, tick_, out);
      take(out);
    }
  }
  traffic = std::exchange(traffic_, {});
  traffic.ticks = tick_ - began;
  return at_rest();
}

std::vector<std::uint8_t> ranks_rising(std::uint32_t node_count) {
  std::vector<std::uint8_t> ranks;
  for (std::uint32_t rank = 0; rank < node_count; ++rank) {
    ranks.push_back(static_cast<std::uint8_t>(rank));
  }
  return ranks;
}

std::vector<std::uint8_t> ranks_falling(std::uint32_t node_count) {
  std::vector<std::uint8_t> ranks = ranks_rising(node_count);
  std::ranges::reverse(ranks);
  return ranks;
}

}  // namespace gcoord::coordinator
