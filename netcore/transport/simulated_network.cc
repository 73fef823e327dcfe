#include "netcore/transport/simulated_network.h"

#include "common/assert.h"
#include "common/crc32c.h"
#include "common/random.h"

#include <algorithm>

namespace gcoord::netcore {
namespace {

constexpr std::uint32_t kMillion = 1'000'000;
// The link header of transport_simulated.h, which stands for what a kernel keeps: it does not rot.
constexpr std::uint32_t kHeaderBytes = 64;

// What the random words of one message are for: each question has a stream of its own.
enum class Question : std::uint64_t { Loss, Delay, Duplicate, DuplicateDelay };

std::uint64_t word(std::uint64_t seed,
                   std::uint64_t link,
                   std::uint64_t message,
                   Question question) {
  return random64(seed, link * 4 + static_cast<std::uint64_t>(question), message);
}

std::uint64_t delay_of(const SimulatedLinkOptions& options, std::uint64_t random) {
  const std::uint32_t spread = options.delay_ticks_max - options.delay_ticks_min + 1;
  return options.delay_ticks_min + random_below(random, spread);
}

}  // namespace

SimulatedNetwork::SimulatedNetwork(std::uint64_t seed, SimulatedLinkOptions defaults)
    : seed_(seed) {
  set_defaults(defaults);
}

void SimulatedNetwork::advance_to(Tick now) {
  GCOORD_ASSERT(now_ <= now);
  now_ = now;
}

void SimulatedNetwork::set_defaults(SimulatedLinkOptions options) {
  GCOORD_ASSERT(options.delay_ticks_min <= options.delay_ticks_max);
  defaults_ = options;
}

void SimulatedNetwork::set_link(NodeId from, NodeId to, SimulatedLinkOptions options) {
  GCOORD_ASSERT(options.delay_ticks_min <= options.delay_ticks_max);
  links_[{from.value, to.value}] = options;
}

void SimulatedNetwork::cut(NodeId from, NodeId to) {
  cuts_.insert({from.value, to.value});
}

void SimulatedNetwork::heal(NodeId from, NodeId to) {
  cuts_.erase({from.value, to.value});
}

void SimulatedNetwork::heal_all() {
  cuts_.clear();
}

bool SimulatedNetwork::is_cut(NodeId from, NodeId to) const {
  return cuts_.contains({from.value, to.value});
}

void SimulatedNetwork::forget(NodeId node) {
  under_way_.erase(node.value);
  for (auto& [to, queue] : under_way_) {
    std::erase_if(queue, [node](const auto& entry) { return entry.second.from == node; });
  }
}

const SimulatedLinkOptions& SimulatedNetwork::options_of(LinkKey link) const {
  const auto own = links_.find(link);
  return own == links_.end() ? defaults_ : own->second;
}

void SimulatedNetwork::send(NodeId from, NodeId to, std::span<const std::byte> message) {
  const LinkKey key{from.value, to.value};
  const std::uint64_t link = (std::uint64_t{from.value} << 32) | to.value;
  const std::uint64_t number = sent_on_link_[key]++;
  const SimulatedLinkOptions& options = options_of(key);
  ++counts_.sent;
  if (cuts_.contains(key)) {
    ++counts_.cut;
    return;
  }
  if (random_below(word(seed_, link, number, Question::Loss), kMillion) < options.loss_ppm) {
    ++counts_.lost;
    return;
  }
  const std::uint64_t delay = delay_of(options, word(seed_, link, number, Question::Delay));
  const std::uint64_t corrupt = random64(~seed_, link, number);
  if (random_below(corrupt, kMillion) < options.corrupt_ppm && message.size() > kHeaderBytes) {
    ++counts_.corrupted;
    std::vector<std::byte> bytes(message.begin(), message.end());
    const auto bits = static_cast<std::uint32_t>((bytes.size() - kHeaderBytes) * 8);
    const std::uint32_t bit = random_below(mix64(corrupt), bits) + kHeaderBytes * 8;
    bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    return schedule(from, to, bytes, delay);
  }
  schedule(from, to, message, delay);
  const std::uint64_t chance = word(seed_, link, number, Question::Duplicate);
  if (random_below(chance, kMillion) < options.duplicate_ppm) {
    ++counts_.duplicated;
    const std::uint64_t random = word(seed_, link, number, Question::DuplicateDelay);
    schedule(from, to, message, delay_of(options, random));
  }
}

void SimulatedNetwork::schedule(NodeId from,
                                NodeId to,
                                std::span<const std::byte> bytes,
                                std::uint64_t delay) {
  under_way_[to.value].emplace(DueKey{now_.value + delay, next_order_++},
                               Message{from, to, {bytes.begin(), bytes.end()}});
}

void SimulatedNetwork::deliver_one(Queue& queue, const Deliver& deliver) {
  const std::uint64_t tick = queue.begin()->first.first;
  const std::uint64_t order = queue.begin()->first.second;
  const Message message = std::move(queue.begin()->second);
  queue.erase(queue.begin());
  if (is_cut(message.from, message.to)) {
    ++counts_.cut;
    return;
  }
  ++counts_.delivered;
  std::uint64_t& newest = delivered_order_[{message.from.value, message.to.value}];
  counts_.reordered += order < newest ? 1u : 0u;
  newest = std::max(newest, order);
  const std::uint64_t link = (std::uint64_t{message.from.value} << 32) | message.to.value;
  delivery_hash_ = mix64(delivery_hash_ ^ mix64(tick) ^ mix64(link + crc32c(message.bytes)));
  deliver(message.from, message.to, message.bytes);
}

void SimulatedNetwork::take_due(const Deliver& deliver) {
  while (true) {
    Queue* first = nullptr;
    for (auto& [to, queue] : under_way_) {
      const bool earlier =
          !queue.empty() && (first == nullptr || queue.begin()->first < first->begin()->first);
      first = earlier ? &queue : first;
    }
    if (first == nullptr || first->begin()->first.first > now_.value) {
      return;
    }
    deliver_one(*first, deliver);
  }
}

void SimulatedNetwork::take_due(NodeId to, const Deliver& deliver) {
  Queue& queue = under_way_[to.value];
  while (!queue.empty() && queue.begin()->first.first <= now_.value) {
    deliver_one(queue, deliver);
  }
}

Tick SimulatedNetwork::next_due() const {
  Tick next = kTickNever;
  for (const auto& [to, queue] : under_way_) {
    next = queue.empty() ? next : min_id(next, Tick{queue.begin()->first.first});
  }
  return next;
}

Tick SimulatedNetwork::next_due(NodeId to) const {
  const auto queue = under_way_.find(to.value);
  return queue == under_way_.end() || queue->second.empty()
             ? kTickNever
             : Tick{queue->second.begin()->first.first};
}

}  // namespace gcoord::netcore
