#include "consensus/scenario/link_network.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::consensus::scenario {

LinkNetwork::LinkNetwork(std::uint32_t node_count)
    : node_count_(node_count), links_(std::size_t{node_count} * node_count) {}

Link& LinkNetwork::link(NodeId from, NodeId to) {
  GCOORD_ASSERT(from.value >= 1 && from.value <= node_count_);
  GCOORD_ASSERT(to.value >= 1 && to.value <= node_count_);
  GCOORD_ASSERT(from != to);
  return links_[std::size_t{from.value - 1} * node_count_ + (to.value - 1)];
}

void LinkNetwork::cut_both(NodeId one, NodeId other) {
  link(one, other).cut = true;
  link(other, one).cut = true;
}

void LinkNetwork::partition(const std::vector<std::vector<NodeId>>& sides) {
  for (std::size_t side = 0; side < sides.size(); ++side) {
    for (std::size_t other = 0; other < sides.size(); ++other) {
      for (const NodeId from : sides[side]) {
        for (const NodeId to : sides[other]) {
          if (from != to) {
            link(from, to).cut = side != other;
          }
        }
      }
    }
  }
}

void LinkNetwork::heal_all() {
  for (Link& way : links_) {
    way.cut = false;
  }
}

SendFate LinkNetwork::send(Packet packet) {
  Link& way = link(packet.message.from, packet.message.to);
  if (way.cut) {
    return SendFate::Cut;
  }
  if ((way.held_kinds & kind_bit(packet.message.kind)) != 0) {
    way.held.push_back(std::move(packet));
    return SendFate::Held;
  }
  way.passing.push_back(std::move(packet));
  return SendFate::Passed;
}

std::optional<Packet> LinkNetwork::take(NodeId to) {
  for (std::uint32_t k = 0; k < node_count_; ++k) {
    const NodeId from{1 + (turn_ + k) % node_count_};
    if (from == to || link(from, to).passing.empty()) {
      continue;
    }
    std::deque<Packet>& passing = link(from, to).passing;
    Packet packet = std::move(passing.front());
    passing.pop_front();
    turn_ = from.value % node_count_;
    return packet;
  }
  return std::nullopt;
}

std::uint32_t LinkNetwork::deliver(NodeId from, NodeId to, KindMask kinds, std::uint32_t count) {
  Link& way = link(from, to);
  std::uint32_t moved = 0;
  for (auto it = way.held.begin(); it != way.held.end() && moved < count;) {
    if ((kinds & kind_bit(it->message.kind)) == 0) {
      ++it;
      continue;
    }
    way.passing.push_back(std::move(*it));
    it = way.held.erase(it);
    ++moved;
  }
  return moved;
}

std::uint32_t LinkNetwork::drop(NodeId from, NodeId to, KindMask kinds, std::uint32_t count) {
  Link& way = link(from, to);
  std::uint32_t lost = 0;
  for (auto it = way.held.begin(); it != way.held.end() && lost < count;) {
    const bool chosen = (kinds & kind_bit(it->message.kind)) != 0;
    it = chosen ? way.held.erase(it) : std::next(it);
    lost += chosen ? 1 : 0;
  }
  return lost;
}

void LinkNetwork::duplicate(NodeId from, NodeId to, KindMask kinds) {
  std::deque<Packet> doubled;
  for (const Packet& packet : link(from, to).held) {
    doubled.push_back(packet);
    if ((kinds & kind_bit(packet.message.kind)) != 0) {
      doubled.push_back(packet);
    }
  }
  link(from, to).held = std::move(doubled);
}

void LinkNetwork::reverse(NodeId from, NodeId to) {
  std::reverse(link(from, to).held.begin(), link(from, to).held.end());
}

void LinkNetwork::send_heartbeat(NodeId from, NodeId to, const Heartbeat& heartbeat) {
  Link& way = link(from, to);
  if (!way.cut && !way.muted) {
    way.heartbeat = heartbeat;
  }
}

std::optional<Heartbeat> LinkNetwork::take_heartbeat(NodeId from, NodeId to) {
  return std::exchange(link(from, to).heartbeat, std::nullopt);
}

void LinkNetwork::forget_passing(NodeId to) {
  for (std::uint32_t from = 1; from <= node_count_; ++from) {
    if (NodeId{from} != to) {
      link(NodeId{from}, to).passing.clear();
      link(NodeId{from}, to).heartbeat.reset();
    }
  }
}

}  // namespace gcoord::consensus::scenario
