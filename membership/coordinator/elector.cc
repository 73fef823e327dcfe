#include "membership/coordinator/elector.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::coordinator {

static_assert(static_cast<int>(Word::Election) == static_cast<int>(MessageKind::Election));
static_assert(static_cast<int>(Word::Answer) == static_cast<int>(MessageKind::Answer));
static_assert(static_cast<int>(Word::Coordinator) == static_cast<int>(MessageKind::Coordinator));

Elector::Elector(ElectorOptions options, ElectorOutput& output)
    : options_(std::move(options)), output_(output) {
  GCOORD_ASSERT(!options_.nodes.empty());
  GCOORD_ASSERT(options_.nodes.size() <= kNodesMax);
  GCOORD_ASSERT(options_.tick_ms > 0);
  for (const NodeId node : options_.nodes) {
    places_.push_back({.node = node});
  }
  std::ranges::sort(places_, {}, &Place::node);
  make_row();
}

// By the places as they are now; who is not known to take part is suspected.
void Elector::make_row() {
  const std::optional<std::uint8_t> self = place_of(options_.node);
  GCOORD_ASSERT(self.has_value());
  row_ = {};
  row_.method = options_.method == Method::Ring ? Method::Ring : Method::Bully;
  row_.self = *self;
  row_.rank = *self;
  row_.node_count = static_cast<std::uint8_t>(places_.size());
  // A bully waits for two patiences at most; both fit beside any tick.
  row_.patience_ticks =
      static_cast<std::uint16_t>(std::clamp<std::uint64_t>(options_.election_ticks, 1, 0xffff));
  row_.suspects = ~std::uint64_t{0};
  for (std::uint8_t place = 0; place < row_.node_count; ++place) {
    if (place == row_.self || takes_part(places_[place])) {
      row_.suspects &= ~(std::uint64_t{1} << place);
    }
  }
}

void Elector::set_nodes(std::span<const NodeId> nodes) {
  GCOORD_ASSERT(nodes.size() <= kNodesMax);
  std::vector<Place> places;
  for (const NodeId node : nodes) {
    const std::optional<std::uint8_t> known = place_of(node);
    places.push_back(known ? places_[*known] : Place{.node = node});
  }
  std::ranges::sort(places, {}, &Place::node);
  if (std::ranges::equal(places, places_, {}, &Place::node, &Place::node) && member_) {
    return;
  }
  const NodeId coordinator = last_known();
  const std::uint32_t dropped = row_.dropped_count;
  member_ = std::ranges::find(nodes, options_.node) != nodes.end();
  if (!member_) {
    places = {Place{.node = options_.node}};
  }
  places_ = std::move(places);
  make_row();
  row_.dropped_count = dropped;
  row_.coordinator = place_of(coordinator).value_or(kNoCoordinator);
  if (row_.coordinator == kNoCoordinator) {
    doubt_at_ = now_ + row_.patience_ticks;
  }
}

std::optional<std::uint8_t> Elector::place_of(NodeId node) const {
  const auto found = std::ranges::lower_bound(places_, node, {}, &Place::node);
  if (found == places_.end() || found->node != node) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(found - places_.begin());
}

bool Elector::on_tick(Tick now) {
  now_ = now;
  // Where nothing is elected, who elects is looked after all the same, to be forgotten with its
  // life.
  const bool idle = !elects() && std::ranges::none_of(places_, elects_otherwise);
  if (idle || now < next_sample_) {
    return false;
  }
  if (!std::exchange(started_, true)) {
    const std::uint64_t wait_ms = places_.size() == 1 ? 0 : kFirstWaitMs;
    doubt_at_ = now + wait_ms / options_.tick_ms + row_.patience_ticks;
  }
  next_sample_ = now + std::max<std::uint64_t>(1, kSampleMs / options_.tick_ms);
  return true;
}

void Elector::on_peers(std::span<const ElectorPeer> peers, Tick now) {
  for (const ElectorPeer& peer : peers) {
    const std::optional<std::uint8_t> found = place_of(peer.node);
    if (!found.has_value() || *found == row_.self) {
      continue;
    }
    Place& place = places_[*found];
    // Another life has lost the office, and its operator may have chosen again.
    const bool met = place.life.value != 0 && peer.life.value != 0;
    if (met && place.life != peer.life) {
      place.live = false;
      place.other.reset();
      weigh(*found, now);
    }
    place.life = peer.life.value != 0 ? peer.life : place.life;
    place.live = peer.live;
    place.understands = peer.understands;
    weigh(*found, now);
  }
  if (elects()) {
    advance(now);
  }
}

void Elector::advance(Tick now) {
  const NodeRow before = row_;
  Outbox out;
  coordinator::on_tick(row_, now.value, out);
  drain(before, out, 0, now);
  if (row_.coordinator == row_.self) {
    if (now >= next_word_) {
      say_again(now);
    }
  } else if (row_.phase == Phase::Idle && now >= doubt_at_) {
    doubt(now);
  }
}

// Lets the step know whether the node of the place has a part now, where it did not know yet.
void Elector::weigh(std::uint8_t place, Tick now) {
  const bool suspected = (row_.suspects >> place & 1) != 0;
  if (takes_part(places_[place]) != suspected) {
    return;
  }
  if (!suspected) {
    const NodeRow before = row_;
    Outbox out;
    on_suspicion(row_, place, now.value, out);
    return drain(before, out, 0, now);
  }
  on_return(row_, place);
  if (row_.coordinator == row_.self) {
    next_word_ = Tick{};  // It is told at once, and bullies or stands if it is higher.
  }
}

// Nobody is known to hold the office, or who does was not heard for long.
void Elector::doubt(Tick now) {
  const NodeRow before = row_;
  Outbox out;
  stand(row_, now.value, out);
  drain(before, out, 0, now);
}

// To all that take part, also higher ones: who does not know, or knows another, learns it. Around
// the ring as when it was won.
void Elector::say_again(Tick now) {
  next_word_ = now + row_.patience_ticks;
  const ElectorMessage message{options_.method, Word::Coordinator, 1, places_[row_.self].node};
  if (row_.method == Method::Ring) {
    const std::uint8_t next = ring_next(row_);
    if (next != row_.self) {
      send(next, message, ElectorCounts::kAgain);
    }
    return;
  }
  for (std::uint8_t place = 0; place < row_.node_count; ++place) {
    if (place != row_.self && takes_part(places_[place])) {
      send(place, message, ElectorCounts::kAgain);
    }
  }
}

void Elector::on_message(NodeId from, const ElectorMessage& message, Tick now) {
  const std::optional<std::uint8_t> sender = place_of(from);
  if (!sender.has_value() || *sender == row_.self) {
    return on_bad_message();
  }
  if (message.method != options_.method) {
    return on_other_method(*sender, message, now);
  }
  if (places_[*sender].other.has_value()) {
    places_[*sender].other.reset();
    weigh(*sender, now);
  }
  places_[*sender].understands = true;  // Which it may not have said yet.
  const std::optional<std::uint8_t> subject = place_of(message.subject);
  if (!elects() || !subject.has_value() || message.word == Word::Method ||
      !plausible(*sender, *subject, message)) {
    return on_bad_message();
  }
  const NodeRow before = row_;
  Outbox out;
  const auto kind = static_cast<MessageKind>(message.word);
  coordinator::on_message(
      row_, Message{kind, *sender, row_.self, *subject, *subject}, now.value, out);
  counts_.dropped += row_.dropped_count - before.dropped_count;
  if (kind == MessageKind::Coordinator && row_.coordinator == *subject) {
    doubt_at_ = now + kSilencePatiences * row_.patience_ticks;
  }
  drain(before, out, message.hops, now);
}

// What travels around a ring was sent first by whom it is about, and comes home after as many hops
// as there are nodes; all else is said by the one whom it is about.
bool Elector::plausible(std::uint8_t from,
                        std::uint8_t subject,
                        const ElectorMessage& message) const {
  const bool first_hand = message.hops == 1;
  if (options_.method != Method::Ring) {
    return first_hand && subject == from;
  }
  return message.hops <= row_.node_count && first_hand == (subject == from);
}

// A node may say much; it is told once in a while. A Method is an answer and gets none.
void Elector::on_other_method(std::uint8_t place, const ElectorMessage& message, Tick now) {
  ++counts_.other_method;
  Place& other = places_[place];
  const bool news = !other.other.has_value();
  other.other = message.method;
  weigh(place, now);
  const bool answered = message.word == Word::Method;
  if (!answered && (news || now >= other.told + row_.patience_ticks)) {
    other.told = now;
    // It sent such a message, so it understands one.
    output_.send(other.node, {options_.method, Word::Method, 1, places_[row_.self].node});
    ++counts_.sent[ElectorCounts::kMethod];
  }
}

void Elector::drain(const NodeRow& before, const Outbox& out, std::uint8_t hops, Tick now) {
  bool stood = false;
  for (std::uint32_t k = 0; k < out.count; ++k) {
    const Message& message = out.messages[k];
    const bool own = message.subject == row_.self;
    const auto word = static_cast<Word>(message.kind);
    stood = stood || (own && word == Word::Election);
    // One that tells what this node knew already, as every word of a coordinator but its first.
    const bool again = word == Word::Coordinator && !own && before.coordinator == message.subject &&
                       before.phase == Phase::Idle;
    const ElectorCounts::Sent what = again                    ? ElectorCounts::kAgain
                                     : word == Word::Election ? ElectorCounts::kElection
                                     : word == Word::Answer   ? ElectorCounts::kAnswer
                                                              : ElectorCounts::kCoordinator;
    const auto travelled = static_cast<std::uint8_t>(own ? 1 : hops + 1);
    if (travelled > row_.node_count) {
      continue;  // It has been everywhere; the one who would have taken it out does not hear.
    }
    send(message.to, {options_.method, word, travelled, places_[message.subject].node}, what);
  }
  if (row_.coordinator == row_.self && before.coordinator != row_.self) {
    next_word_ = now + row_.patience_ticks;
    ++counts_.won;
    stood = stood || before.phase == Phase::Idle;  // Nobody had to be asked.
  }
  settle(before, stood);
}

void Elector::settle(const NodeRow& before, bool stood) {
  counts_.elections += stood ? 1 : 0;
  if (row_.coordinator == before.coordinator || row_.coordinator == kNoCoordinator ||
      last_known() == settled_) {
    return;
  }
  settled_ = last_known();
  ++counts_.changes;
  output_.on_new_coordinator(last_known());
}

// A node that is down is asked too, as in the papers: it may be this one that does not hear.
void Elector::send(std::uint8_t to, const ElectorMessage& message, ElectorCounts::Sent what) {
  const Place& place = places_[to];
  if (!place.understands || place.other.has_value()) {
    return;
  }
  ++counts_.sent[what];
  output_.send(place.node, message);
}

NodeId Elector::coordinator() const {
  if (!elects() || row_.coordinator == kNoCoordinator) {
    return NodeId{};
  }
  const Place& place = places_[row_.coordinator];
  const bool serves = row_.coordinator == row_.self || (takes_part(place) && now_ < doubt_at_);
  return serves ? place.node : NodeId{};
}

NodeId Elector::last_known() const {
  return row_.coordinator == kNoCoordinator ? NodeId{} : places_[row_.coordinator].node;
}

std::vector<std::pair<NodeId, Method>> Elector::others() const {
  std::vector<std::pair<NodeId, Method>> others;
  for (const Place& place : places_) {
    if (place.other.has_value()) {
      others.emplace_back(place.node, *place.other);
    }
  }
  return others;
}

}  // namespace gcoord::coordinator
