// Simulated connections between clients and nodes: delays, and losses that a client sees as a
// broken connection. One thread.
#pragma once

#include "chaos/random/sim_random.h"
#include "common/ids.h"
#include "protocol/request.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class ClientWire {
 public:
  static constexpr std::uint32_t kDelayUsMax = 20'000;    // Of a wire that is well.
  static constexpr std::uint32_t kLateUsMax = 2'000'000;  // Of one that is not.
  // Of a request that comes once more: in an old connection, behind newer ones, after a failover.
  static constexpr std::uint32_t kRepeatUsMax = 6'000'000;
  static constexpr std::size_t kCopiesMax = 64;

  explicit ClientWire(std::uint64_t seed) : random_(seed, 3), repeats_(seed, 6) {}

  void send(std::uint32_t client,
            NodeId node,
            const protocol::RequestSlot& slot,
            std::span<const std::byte> payload,
            std::uint64_t now_us) {
    if (copies_acquires && slot.kind == protocol::RequestKind::LockAcquire &&
        copies_.size() < kCopiesMax) {
      copies_.push_back({client, node, slot, {payload.begin(), payload.end()}});
    }
    if (repeat_ppm != 0 && repeats_.chance(repeat_ppm)) {
      ++requests_repeated;
      requests_.emplace(Key{now_us + 1 + repeats_.below(kRepeatUsMax), ++order_},
                        Request{client, node, slot, {payload.begin(), payload.end()}});
    }
    if (random_.chance(request_loss_ppm)) {
      ++requests_lost;
      return;
    }
    requests_.emplace(key(now_us, delay_us_max),
                      Request{client, node, slot, {payload.begin(), payload.end()}});
  }

  void reply(NodeId node,
             std::uint32_t client,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload,
             std::uint64_t now_us) {
    if (random_.chance(reply_loss_ppm)) {
      ++replies_lost;
      return;
    }
    const bool late = client < late_until_us_.size() && now_us < late_until_us_[client];
    const std::uint32_t delay_us = late ? std::max(delay_us_max, kLateUsMax) : delay_us_max;
    replies_.emplace(key(now_us, delay_us),
                     Reply{node, client, slot, {payload.begin(), payload.end()}});
  }

  // What a client is told until then comes late, by up to two seconds.
  void tell_late(std::uint32_t client, std::uint64_t until_us) {
    late_until_us_.resize(std::max<std::size_t>(late_until_us_.size(), client + 1));
    late_until_us_[client] = until_us;
  }

  bool has_copies() const { return copies_acquires || !copies_.empty(); }

  // What was copied arrives now, at every node: nobody knows which one leads by now. Returns how
  // many acquires those are.
  std::size_t deliver_copies(std::uint32_t node_count, std::uint64_t now_us) {
    const std::size_t count = copies_.size();
    for (Request& copy : std::exchange(copies_, {})) {
      for (copy.node = NodeId{1}; copy.node.value <= node_count; ++copy.node) {
        requests_.emplace(Key{now_us, ++order_}, copy);
      }
    }
    return count;
  }

  using OnRequest = std::function<void(
      std::uint32_t client, NodeId, const protocol::RequestSlot&, std::span<const std::byte>)>;
  using OnReply = std::function<void(
      NodeId, std::uint32_t client, const protocol::ReplySlot&, std::span<const std::byte>)>;

  void deliver_requests(std::uint64_t now_us, const OnRequest& on_request) {
    while (!requests_.empty() && requests_.begin()->first.first <= now_us) {
      const Request request = std::move(requests_.begin()->second);
      requests_.erase(requests_.begin());
      on_request(request.client, request.node, request.slot, request.payload);
    }
  }

  void deliver_replies(std::uint64_t now_us, const OnReply& on_reply) {
    while (!replies_.empty() && replies_.begin()->first.first <= now_us) {
      const Reply reply = std::move(replies_.begin()->second);
      replies_.erase(replies_.begin());
      on_reply(reply.node, reply.client, reply.slot, reply.payload);
    }
  }

  // Faults, until changed back.
  std::uint32_t request_loss_ppm = 0;
  std::uint32_t reply_loss_ppm = 0;
  std::uint32_t repeat_ppm = 0;
  std::uint32_t delay_us_max = kDelayUsMax;
  bool copies_acquires = false;  // For deliver_copies(), besides what becomes of them.

  std::uint64_t requests_lost = 0;
  std::uint64_t requests_repeated = 0;
  std::uint64_t replies_lost = 0;

 private:
  struct Request {
    std::uint32_t client;
    NodeId node;
    protocol::RequestSlot slot;
    std::vector<std::byte> payload;
  };

  struct Reply {
    NodeId node;
    std::uint32_t client;
    protocol::ReplySlot slot;
    std::vector<std::byte> payload;
  };

  // When it arrives, and the order of sending.
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  Key key(std::uint64_t now_us, std::uint32_t delay_us) {
    return {now_us + 1 + random_.below(delay_us), ++order_};
  }

  SimRandom random_;
  SimRandom repeats_;
  std::map<Key, Request> requests_;
  std::map<Key, Reply> replies_;
  std::vector<std::uint64_t> late_until_us_;  // By client.
  std::vector<Request> copies_;
  std::uint64_t order_ = 0;
};

}  // namespace gcoord::chaos
