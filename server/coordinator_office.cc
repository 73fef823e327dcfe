#include "server/coordinator_office.h"

#include "common/assert.h"

#include <algorithm>
#include <string>

namespace gcoord::server {

using coordinator::kNoCoordinator;
using coordinator::Message;
using coordinator::MessageKind;
using coordinator::NodeRow;
using coordinator::Outbox;
using coordinator::Phase;

static_assert(static_cast<int>(CoordinatorMethod::Bully) ==
              static_cast<int>(coordinator::Method::Bully));
static_assert(static_cast<int>(CoordinatorMethod::Ring) ==
              static_cast<int>(coordinator::Method::Ring));
static_assert(static_cast<int>(CoordinatorWord::Election) ==
              static_cast<int>(MessageKind::Election));
static_assert(static_cast<int>(CoordinatorWord::Answer) == static_cast<int>(MessageKind::Answer));
static_assert(static_cast<int>(CoordinatorWord::Coordinator) ==
              static_cast<int>(MessageKind::Coordinator));

CoordinatorOffice::CoordinatorOffice(const CoordinatorOfficeOptions& options,
                                     MetricsRegistry& metrics,
                                     Doors doors)
    : options_(options), doors_(std::move(doors)) {
  GCOORD_ASSERT(!options_.nodes.empty());
  GCOORD_ASSERT(options_.nodes.size() <= coordinator::kNodesMax);
  GCOORD_ASSERT(options_.tick_ms > 0);
  for (const NodeId node : options_.nodes) {
    places_.push_back({.node = node});
  }
  std::ranges::sort(places_, {}, &Place::node);
  const std::optional<std::uint8_t> self = place_of(options_.node);
  GCOORD_ASSERT(self.has_value());
  row_.method = options_.method == CoordinatorMethod::Ring ? coordinator::Method::Ring
                                                           : coordinator::Method::Bully;
  row_.self = *self;
  row_.rank = *self;
  row_.node_count = static_cast<std::uint8_t>(places_.size());
  // A bully waits for two patiences at most; both fit beside any tick.
  row_.patience_ticks =
      static_cast<std::uint16_t>(std::clamp<std::uint64_t>(options_.election_ticks, 1, 0xffff));
  // Nobody has been heard yet.
  row_.suspects = ~std::uint64_t{0} & ~(std::uint64_t{1} << row_.self);
  register_metrics(metrics);
}

void CoordinatorOffice::register_metrics(MetricsRegistry& metrics) {
  const auto counter = [&metrics](const char* name, const char* help) {
    return &metrics.counter({std::string("gcoord_coordinator_") + name, help, "", ""});
  };
  constexpr std::array<const char*, kSentKinds> kSentNames = {
      "election", "answer", "coordinator", "again", "method"};
  for (std::size_t k = 0; k < kSentKinds; ++k) {
    sent_[k] = &metrics.counter({"gcoord_coordinator_messages_total",
                                 "Messages of elections by bully or ring, by purpose.",
                                 "word",
                                 kSentNames[k]});
  }
  elections_ = counter("elections_total", "Elections in which this node was a candidate.");
  won_ = counter("elections_won_total", "Elections that this node won.");
  changes_ = counter("changes_total", "Changes of the coordinator, the first one included.");
  dropped_ = counter("messages_bad_total", "Dropped messages of peers about the coordinator.");
  other_method_ = counter("messages_other_method_total",
                          "Dropped messages of peers with another election method.");
  node_ = &metrics.gauge(
      {"gcoord_coordinator_node",
       "Node id of the coordinator elected by bully or ring; 0: none is known, or raft.",
       "",
       ""});
}

std::optional<std::uint8_t> CoordinatorOffice::place_of(NodeId node) const {
  const auto found = std::ranges::lower_bound(places_, node, {}, &Place::node);
  if (found == places_.end() || found->node != node) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(found - places_.begin());
}

Tick CoordinatorOffice::next_deadline() const {
  return elects() ? next_look_ : kTickNever;
}

void CoordinatorOffice::on_tick(Tick now) {
  now_ = now;
  // Where nothing is elected, who elects is looked after all the same, to be forgotten with its
  // life.
  const bool idle = !elects() && std::ranges::none_of(places_, elects_otherwise);
  if (idle || now < next_look_) {
    return;
  }
  if (!std::exchange(started_, true)) {
    const std::uint64_t wait_ms = places_.size() == 1 ? 0 : kFirstWaitMs;
    doubt_at_ = now + wait_ms / options_.tick_ms + row_.patience_ticks;
  }
  next_look_ = now + std::max<std::uint64_t>(1, kLookMs / options_.tick_ms);
  look(now);
  if (elects()) {
    advance(now);
  }
}

void CoordinatorOffice::advance(Tick now) {
  const NodeRow before = row_;
  Outbox out;
  coordinator::on_tick(row_, now.value, out);
  carry_out(before, out, 0, now);
  if (row_.coordinator == row_.self) {
    if (now >= next_word_) {
      say_again(now);
    }
  } else if (row_.phase == Phase::Idle && now >= doubt_at_) {
    doubt(now);
  }
}

void CoordinatorOffice::look(Tick now) {
  for (const CoordinatorPeer& peer : doors_.peers()) {
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
}

// Lets the step know whether the node of the place has a part now, where it did not know yet.
void CoordinatorOffice::weigh(std::uint8_t place, Tick now) {
  const bool suspected = (row_.suspects >> place & 1) != 0;
  if (takes_part(places_[place]) != suspected) {
    return;
  }
  if (!suspected) {
    const NodeRow before = row_;
    Outbox out;
    coordinator::on_suspicion(row_, place, now.value, out);
    return carry_out(before, out, 0, now);
  }
  coordinator::on_return(row_, place);
  if (row_.coordinator == row_.self) {
    next_word_ = Tick{};  // It is told at once, and bullies or stands if it is higher.
  }
}

// Nobody is known to hold the office, or who does was not heard for long.
void CoordinatorOffice::doubt(Tick now) {
  const NodeRow before = row_;
  Outbox out;
  coordinator::stand(row_, now.value, out);
  carry_out(before, out, 0, now);
}

// To all that take part, also higher ones: who does not know, or knows another, learns it. Around
// the ring as when it was won.
void CoordinatorOffice::say_again(Tick now) {
  next_word_ = now + row_.patience_ticks;
  const CoordinatorMessage message{
      options_.method, CoordinatorWord::Coordinator, 1, places_[row_.self].node};
  if (row_.method == coordinator::Method::Ring) {
    const std::uint8_t next = coordinator::ring_next(row_);
    if (next != row_.self) {
      send(next, message, Sent::Again);
    }
    return;
  }
  for (std::uint8_t place = 0; place < row_.node_count; ++place) {
    if (place != row_.self && takes_part(places_[place])) {
      send(place, message, Sent::Again);
    }
  }
}

bool CoordinatorOffice::is_ours(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kCoordinatorKind;
}

void CoordinatorOffice::on_message(NodeId from, std::span<const std::byte> bytes, Tick now) {
  const std::optional<CoordinatorMessage> message = decode_coordinator(bytes);
  const std::optional<std::uint8_t> sender = place_of(from);
  if (!message.has_value() || !sender.has_value() || *sender == row_.self) {
    return dropped_->add();
  }
  if (message->method != options_.method) {
    return on_other_method(*sender, *message, now);
  }
  if (places_[*sender].other.has_value()) {
    places_[*sender].other.reset();
    weigh(*sender, now);
  }
  places_[*sender].understands = true;  // Which it may not have said yet.
  const std::optional<std::uint8_t> subject = place_of(message->subject);
  if (!elects() || !subject.has_value() || message->word == CoordinatorWord::Method ||
      !plausible(*sender, *subject, *message)) {
    return dropped_->add();
  }
  const NodeRow before = row_;
  Outbox out;
  const auto kind = static_cast<MessageKind>(message->word);
  coordinator::on_message(
      row_, Message{kind, *sender, row_.self, *subject, *subject}, now.value, out);
  dropped_->add(row_.dropped_count - before.dropped_count);
  if (kind == MessageKind::Coordinator && row_.coordinator == *subject) {
    doubt_at_ = now + kSilencePatiences * row_.patience_ticks;
  }
  carry_out(before, out, message->hops, now);
}

// What travels around a ring was sent first by whom it is about, and comes home after as many hops
// as there are nodes; all else is said by the one whom it is about.
bool CoordinatorOffice::plausible(std::uint8_t from,
                                  std::uint8_t subject,
                                  const CoordinatorMessage& message) const {
  const bool first_hand = message.hops == 1;
  if (options_.method != CoordinatorMethod::Ring) {
    return first_hand && subject == from;
  }
  return message.hops <= row_.node_count && first_hand == (subject == from);
}

// A node may say much; it is told once in a while. A Method is an answer and gets none.
void CoordinatorOffice::on_other_method(std::uint8_t place,
                                        const CoordinatorMessage& message,
                                        Tick now) {
  other_method_->add();
  Place& other = places_[place];
  const bool news = !other.other.has_value();
  other.other = message.method;
  weigh(place, now);
  const bool answered = message.word == CoordinatorWord::Method;
  if (!answered && (news || now >= other.told + row_.patience_ticks)) {
    other.told = now;
    // It sent such a message, so it understands one.
    doors_.send(
        other.node,
        encode_coordinator({options_.method, CoordinatorWord::Method, 1, places_[row_.self].node}));
    sent_[static_cast<std::size_t>(Sent::Method)]->add();
  }
}

void CoordinatorOffice::carry_out(const NodeRow& before,
                                  const Outbox& out,
                                  std::uint8_t hops,
                                  Tick now) {
  bool stood = false;
  for (std::uint32_t k = 0; k < out.count; ++k) {
    const Message& message = out.messages[k];
    const bool own = message.subject == row_.self;
    const auto word = static_cast<CoordinatorWord>(message.kind);
    stood = stood || (own && word == CoordinatorWord::Election);
    // One that tells what this node knew already, as every word of a coordinator but its first.
    const bool again = word == CoordinatorWord::Coordinator && !own &&
                       before.coordinator == message.subject && before.phase == Phase::Idle;
    const Sent what = again                               ? Sent::Again
                      : word == CoordinatorWord::Election ? Sent::Election
                      : word == CoordinatorWord::Answer   ? Sent::Answer
                                                          : Sent::Coordinator;
    const auto travelled = static_cast<std::uint8_t>(own ? 1 : hops + 1);
    if (travelled > row_.node_count) {
      continue;  // It has been everywhere; the one who would have taken it out does not hear.
    }
    send(message.to, {options_.method, word, travelled, places_[message.subject].node}, what);
  }
  if (row_.coordinator == row_.self && before.coordinator != row_.self) {
    next_word_ = now + row_.patience_ticks;
    won_->add();
    stood = stood || before.phase == Phase::Idle;  // Nobody had to be asked.
  }
  settle(before, stood);
}

void CoordinatorOffice::settle(const NodeRow& before, bool stood) {
  elections_->add(stood ? 1 : 0);
  if (row_.coordinator == before.coordinator) {
    return;
  }
  const bool none = row_.coordinator == kNoCoordinator;
  const NodeId node = none ? NodeId{} : places_[row_.coordinator].node;
  node_->set(node.value);
  if (!none && row_.coordinator != settled_) {
    settled_ = row_.coordinator;
    changes_->add();
    if (change_sink_) {
      change_sink_(node);
    }
  }
}

// A node that is down is asked too, as in the papers: it may be this one that does not hear.
void CoordinatorOffice::send(std::uint8_t to, const CoordinatorMessage& message, Sent what) {
  const Place& place = places_[to];
  if (!place.understands || place.other.has_value()) {
    return;
  }
  sent_[static_cast<std::size_t>(what)]->add();
  doors_.send(place.node, encode_coordinator(message));
}

NodeId CoordinatorOffice::coordinator() const {
  if (!elects() || row_.coordinator == kNoCoordinator) {
    return NodeId{};
  }
  const Place& place = places_[row_.coordinator];
  const bool serves = row_.coordinator == row_.self || (takes_part(place) && now_ < doubt_at_);
  return serves ? place.node : NodeId{};
}

CoordinatorView CoordinatorOffice::view() const {
  const auto sent = [this](Sent what) { return sent_[static_cast<std::size_t>(what)]->value(); };
  CoordinatorView view{
      .method = options_.method,
      .elections = elections_->value(),
      .won = won_->value(),
      .changes = changes_->value(),
      .sent_election = sent(Sent::Election),
      .sent_answer = sent(Sent::Answer),
      .sent_coordinator = sent(Sent::Coordinator),
      .sent_again = sent(Sent::Again),
      .dropped = dropped_->value(),
      .other_method = other_method_->value(),
  };
  if (row_.coordinator != kNoCoordinator) {
    view.coordinator = places_[row_.coordinator].node;
  }
  for (const Place& place : places_) {
    if (place.other.has_value()) {
      view.others.emplace_back(place.node, *place.other);
    }
  }
  return view;
}

}  // namespace gcoord::server
