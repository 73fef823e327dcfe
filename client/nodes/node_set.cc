#include "client/nodes/node_set.h"

#include "client/net/failure.h"
#include "client/net/host_port.h"
#include "client/nodes/node_login.h"
#include "common/assert.h"
#include "protocol/error_codes.h"
#include "protocol/lock_messages.h"
#include "protocol/members/voters.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

gcoord::Status unnumbered(const std::string& reason) {
  return numbered(protocol::ErrorCode::None, reason);
}

// Nodes beyond the endpoints: those of a Welcome, and as many again for a cluster that is rebuilt
// meanwhile. A node that names others each time would else be given a connection for each.
constexpr std::size_t kLearntMax = 2 * std::size_t{protocol::kNodesMax};

// Given as a path of this host, and neither known to be a node's nor known not to be there.
bool awaits_local(const NodeEntry& entry) {
  return entry.is_used() && entry.node == NodeId{} && !entry.failed && is_local(entry.address);
}

const std::vector<protocol::NodeAddress> kNone;

// The client waits so long for answers of a node that goes.
constexpr TimePoint kLeavingTime = std::chrono::seconds{1};

std::shared_ptr<Login> login_of(const ClientOptions& options) {
  return std::make_shared<Login>(
      options.credentials, options.insecure_credentials ? Exposure::Allowed : Exposure::Refused);
}

// A node that no login may go to is not greeted again for so long: only another address, or a name
// that leads elsewhere by then, would mend that.
constexpr TimePoint kExposedRest = std::chrono::seconds{30};

}  // namespace

NodeSet::NodeSet(asio::io_context& context, const ClientOptions& options, Events events)
    : context_(context),
      options_(options),
      tls_(TlsAccess::for_options(options.tls)),
      access_{login_of(options), {}},
      events_(std::move(events)),
      fetch_(TimePoint{options.request_timeout} / 4) {}

NodeSet::~NodeSet() {
  for (const auto& entry : entries_) {
    if (entry->connection != nullptr) {
      entry->connection->abandon();
    }
  }
}

void NodeSet::start() {
  for (const std::string& endpoint : options_.endpoints) {
    add(endpoint, NodeId{});
  }
  advance(options_.clock->now());
}

// A stream of its own for each, so that endpoints that failed together are not tried together.
void NodeSet::add(const std::string& address, NodeId node) {
  const BreakerOptions breaker{.failures = options_.breaker_failures,
                               .pause_min = options_.backoff_min,
                               .pause_max = options_.backoff_max,
                               .seed = mix64(options_.seed + added_++)};
  entries_.push_back(std::make_unique<Entry>(address, node, breaker));
}

Connection* NodeSet::ready(NodeId node) {
  const Entry* entry = find_ready(node);
  return entry != nullptr ? entry->connection.get() : nullptr;
}

bool NodeSet::has(NodeId node, protocol::Feature feature) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) {
    return entry->phase == Phase::Ready && entry->node == node &&
           (entry->features & static_cast<std::uint64_t>(feature)) != 0;
  });
}

NodeId NodeSet::any_ready() {
  for (std::size_t tried = 0; tried < entries_.size(); ++tried) {
    const Entry& entry = *entries_[++turn_ % entries_.size()];
    if (entry.phase == Phase::Ready) {
      return entry.node;
    }
  }
  return {};
}

bool NodeSet::admits(NodeId node) const {
  const Entry* entry = find_ready(node);
  return entry != nullptr &&
         (entry->breaker.closed() || entry->breaker.admits(options_.clock->now()));
}

template <typename Suits>
NodeId NodeSet::any_ready_that(const Suits& suits) {
  for (std::size_t tried = 0; tried < entries_.size(); ++tried) {
    const NodeId node = any_ready();
    if (node == NodeId{} || suits(node)) {
      return node;
    }
  }
  return {};
}

NodeId NodeSet::any_admitting() {
  return any_ready_that([this](NodeId node) { return admits(node); });
}

bool NodeSet::closed(NodeId node) const {
  const Entry* entry = find_ready(node);
  return entry != nullptr && entry->breaker.closed();
}

NodeId NodeSet::any_closed() {
  return any_ready_that([this](NodeId node) { return closed(node); });
}

void NodeSet::on_request(NodeId node) {
  Entry* entry = find_ready(node);
  if (entry != nullptr && !entry->breaker.closed()) {
    entry->breaker.on_request(options_.clock->now());
  }
}

bool NodeSet::on_answer(NodeId node) {
  Entry* entry = find_ready(node);
  return entry != nullptr && entry->breaker.on_success();
}

void NodeSet::on_request_failed(NodeId node, const std::string& reason) {
  if (Entry* entry = find_ready(node)) {
    entry->breaker.on_failure(options_.clock->now());
    entry->failure = {.evidence = reason};
  }
}

bool NodeSet::all_open() const {
  return std::ranges::none_of(
      entries_, [](const auto& entry) { return entry->is_used() && entry->breaker.closed(); });
}

TimePoint NodeSet::next_probe() const {
  TimePoint next = kTimeNever;
  for (const auto& entry : entries_) {
    if (entry->phase == Phase::Ready) {
      next = std::min(next, entry->breaker.next_probe());
    }
  }
  return next;
}

std::size_t NodeSet::ready_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry->phase == Phase::Ready; }));
}

bool NodeSet::has_majority() const {
  std::vector<NodeId> connected;
  for (const auto& entry : entries_) {
    if (entry->phase == Phase::Ready) {
      connected.push_back(entry->node);
    }
  }
  const auto& lists = known_.voters().lists;
  return !lists.empty() && VoterLists{{lists.front()}}.is_majority(connected);
}

bool NodeSet::failed(NodeId node) const {
  const Entry* entry = find(node);
  return entry == nullptr || entry->failed;
}

bool NodeSet::all_failed() const {
  return std::ranges::all_of(entries_,
                             [](const auto& entry) { return entry->failed || !entry->is_used(); });
}

bool NodeSet::complete() const {
  return welcomed_ &&
         std::ranges::all_of(cluster_.nodes, [this](const protocol::NodeAddress& node) {
           return find_ready(node.node) != nullptr;
         });
}

bool NodeSet::tried() const {
  return welcomed_ &&
         std::ranges::all_of(cluster_.nodes, [this](const protocol::NodeAddress& node) {
           const Entry* entry = find(node.node);
           return entry == nullptr || entry->phase == Phase::Ready || entry->failed;
         });
}

Status NodeSet::why_silent(NodeId node) const {
  const Entry* entry = find(node);
  if (entry == nullptr) {
    return client::failure(protocol::ErrorCode::OptionInvalid,
                           "the cluster has no node " + std::to_string(node.value));
  }
  return client::failure(protocol::ErrorCode::Unreachable,
                         entry->address + ": " + entry->why_not_ready());
}

void NodeSet::advance(TimePoint now) {
  ask_for_view(now);
  std::erase_if(entries_, [this, now](const auto& entry) {
    const bool gone = entry->phase == Phase::Left && now >= entry->give_up_at;
    frames_before_ += gone && entry->connection != nullptr ? entry->connection->frames_sent() : 0;
    return gone;
  });
  const Renewal renewal{entries_, *access_.login, now, TimePoint{options_.request_timeout}};
  // By index, because a Welcome may add entries.
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    Entry& entry = *entries_[index];
    attach_anew_when_due(entry, now);
    renew_when_due(entry, renewal);
    if (entry.phase == Phase::Waiting && entry.breaker.admits(now) && now >= entry.rests_until) {
      connect(entry, now);
    } else if (entry.phase == Phase::Connecting && now >= entry.give_up_at) {
      entry.give_up_at = kTimeNever;
      if (awaits_login(entry)) {
        ++entry.logins_unanswered;
        entry.connection->close(
            numbered(protocol::ErrorCode::AuthenticationBusy, "no answer to the login in time"));
      } else {
        entry.connection->close("no answer within the connect timeout");
      }
    } else if (entry.phase == Phase::Ready && known_.has_left(entry.node) &&
               now >= entry.give_up_at) {
      entry.give_up_at = kTimeNever;
      entry.connection->close("has left the cluster");
    }
  }
}

// Any node that is connected: one that is behind gets the next request no earlier than the others.
void NodeSet::ask_for_view(TimePoint now) {
  if (!fetch_.due(known_, now)) {
    return;
  }
  const NodeId node = any_ready_that([this](NodeId each) {
    return has(each, protocol::Feature::Members) && !known_.has_left(each);
  });
  known_.asked();
  if (node == NodeId{}) {
    return fetch_.put_off(now);
  }
  ready(node)->send(fetch_.ask(node, now), ViewFetch::payload());
}

void NodeSet::take_view(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  const auto answer = protocol::decode_view_answer(payload);
  if (slot.code != gcoord::StatusCode::Ok || !answer.ok() || !known_.take(answer.value())) {
    return;
  }
  cluster_.nodes = addresses_of(known_.view(), cluster_.nodes);
  for (const protocol::NodeAddress& node : cluster_.nodes) {
    learn_address(node);
  }
  const TimePoint now = options_.clock->now();
  for (const auto& entry : entries_) {
    if (entry->is_used() && known_.has_left(entry->node)) {
      entry->let_go(now + kLeavingTime);
    }
  }
  events_.on_view();
}

TimePoint NodeSet::next_event() const {
  TimePoint next = ready_count() == 0 ? kTimeNever : fetch_.next_event(known_);
  for (const auto& entry : entries_) {
    if (entry->phase == Phase::Ready) {
      next = std::min(next, entry->login.renew_at());
    }
    if (entry->phase == Phase::Waiting) {
      next = std::min(next, std::max(entry->breaker.next_probe(), entry->rests_until));
    } else if (entry->phase == Phase::Connecting || entry->phase == Phase::Left ||
               (entry->phase == Phase::Ready && known_.has_left(entry->node))) {
      next = std::min(next, entry->give_up_at);
    }
  }
  return next;
}

void NodeSet::connect(Entry& entry, TimePoint now) {
  entry.phase = Phase::Connecting;
  entry.breaker.on_request(now);
  entry.give_up_at = now + TimePoint{options_.connect_timeout};
  entry.connection = std::make_shared<Connection>(context_, *options_.clock, tls_);
  Connection::Events events;
  entry.greeted = false;
  entry.login = ConnectionLogin{entry.breaker_options.seed};
  entry.login_waits = false;
  entry.welcome.reset();
  begin_attaching(entry, now);
  events.on_connected = [this, &entry] {
    entry.greeted = true;
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    const ClusterId cluster = welcomed_ ? cluster_.cluster : ClusterId{options_.cluster_id};
    entry.connection->send(
        hello,
        protocol::encode(protocol::Hello{.cluster = cluster, .client = options_.client_name}));
    if (welcomed_ && has_identities(cluster_)) {
      log_in_early(entry, *access_.login);
    }
  };
  events.on_reply = [this, &entry](const protocol::ReplySlot& slot, auto payload) {
    on_reply(entry, slot, payload);
  };
  events.on_batch_end = [this] { events_.on_batch_end(); };
  events.on_closed = [this, &entry](const std::string& reason) { on_closed(entry, reason); };
  entry.connection->connect(entry.address, std::move(events));
}

void NodeSet::on_reply(Entry& entry,
                       const protocol::ReplySlot& slot,
                       std::span<const std::byte> payload) {
  if (entry.phase == Phase::Ready && fetch_.take(entry.node, slot, options_.clock->now())) {
    take_view(slot, payload);
  } else if (entry.phase == Phase::Ready && is_login(slot)) {
    entry.login.take_renewal({slot, payload, options_.clock->now()}, *access_.login);
  } else if (entry.phase == Phase::Ready) {
    access_.keyring.hear(slot, payload);
    events_.on_reply(entry.node, slot, payload);
  } else if (entry.phase == Phase::Connecting) {
    entry.greeted = false;
    on_welcome(entry, slot, payload);
    resume_logins(entries_, *access_.login);
  }
}

void NodeSet::on_welcome(Entry& entry,
                         const protocol::ReplySlot& slot,
                         std::span<const std::byte> payload) {
  if (entry.welcome == nullptr) {
    if (slot.code != gcoord::StatusCode::Ok) {
      return entry.connection->close(refusal_of(slot, payload));
    }
    auto welcome = protocol::decode_welcome(payload);
    if (!welcome.ok()) {
      return entry.connection->close("sent a welcome that cannot be decoded");
    }
    if (const gcoord::Status reason = objection(entry, welcome.value()); !reason.ok()) {
      return entry.connection->close(reason);
    }
    entry.welcome = std::make_unique<protocol::Welcome>(std::move(welcome).value());
    // The node is there, and a check of a password has a time of its own.
    entry.give_up_at = options_.clock->now() + TimePoint{options_.connect_timeout};
    if (has_identities(*entry.welcome) && access_.login->wanted()) {
      return entry.login.sent() ? void() : log_in(entry, entries_, *access_.login);
    }
  } else if (!take_login(
                 entry, {{slot, payload, options_.clock->now()}, entries_}, *access_.login)) {
    return;
  }
  const std::unique_ptr<protocol::Welcome> welcome = std::move(entry.welcome);
  for (const auto& other : entries_) {
    if (other.get() == &entry || other->node != welcome->node || !other->is_used()) {
      continue;
    }
    // One of the two goes: the one that does not work, or this one.
    Entry& alias = other->phase == Phase::Ready ? entry : *other;
    alias.phase = Phase::Alias;
    if (alias.connection != nullptr) {
      alias.connection->abandon();
    }
  }
  if (entry.phase == Phase::Alias) {
    return;
  }
  entry.node = welcome->node;
  entry.phase = Phase::Ready;
  entry.features = welcome->features;
  entry.connection->set_number(welcome->connection);
  if (has_identities(*welcome)) {
    attach_before_requests(entry, access_.keyring);
  }
  entry.breaker.on_success();
  entry.failed = false;
  entry.failure = {};
  if (!welcomed_) {
    cluster_ = *welcome;
    welcomed_ = true;
    known_.begin(*welcome);
  }
  // While a cluster is being upgraded, what one node does not know is asked of none.
  cluster_.features &= welcome->features;
  for (const protocol::NodeAddress& node : welcome->nodes) {
    learn_address(node);
  }
  for (const protocol::NodeAddress& node : is_local(entry.address) ? cluster_.nodes : kNone) {
    learn_address(node);
  }
  known_.hear(welcome->view_epoch);
  events_.on_ready(entry.node);
}

// Trying again does not mend it that the user named another cluster: this alone has a number.
gcoord::Status NodeSet::objection(const Entry& entry, const protocol::Welcome& welcome) const {
  if (entry.node != NodeId{} && welcome.node != entry.node) {
    return unnumbered("is node " + std::to_string(welcome.node.value) + " now, not " +
                      std::to_string(entry.node.value));
  }
  if (welcome.node == NodeId{}) {
    return unnumbered("sent a welcome without its node id");
  }
  if (known_.has_left(welcome.node)) {
    return unnumbered("is node " + std::to_string(welcome.node.value) +
                      ", which has left the cluster");
  }
  const ClusterId wanted = welcomed_ ? cluster_.cluster : ClusterId{options_.cluster_id};
  const bool foreign = wanted != ClusterId{} && welcome.cluster != wanted;
  const bool reshaped = welcomed_ && welcome.shard_count != cluster_.shard_count;
  if (!foreign && !reshaped) {
    return {};
  }
  constexpr const char* kForeign = "belongs to another cluster";
  return welcomed_ ? unnumbered(kForeign) : numbered(protocol::ErrorCode::ClusterForeign, kForeign);
}

// One without an address will be named by a later Welcome, or view.
void NodeSet::learn_address(const protocol::NodeAddress& node) {
  const auto unnamed = std::ranges::find_if(entries_, [&](const auto& entry) {
    return entry->node == NodeId{} && entry->address == node.address;
  });
  if (node.address.empty() || known_.has_left(node.node)) {
    return;
  }
  // A node whose path on this host was given is reached there, so it is awaited which nodes these
  // are.
  if (find(node.node) == nullptr &&
      std::ranges::any_of(entries_, [](const auto& entry) { return awaits_local(*entry); })) {
    return;
  }
  if (Entry* known = find(node.node)) {
    known->add_address(node.address);
  } else if (unnamed != entries_.end()) {
    (*unnamed)->node = node.node;  // An endpoint that has not answered now has a name.
  } else if (entries_.size() < options_.endpoints.size() + kLearntMax) {
    add(node.address, node.node);
  }
}

void NodeSet::on_closed(Entry& entry, const std::string& reason) {
  if (!entry.is_used()) {
    return;
  }
  const bool was_ready = entry.phase == Phase::Ready;
  const protocol::ErrorCode code = entry.connection->failure_code();
  const bool unanswered = entry.is_unanswered() && code == protocol::ErrorCode::None;
  frames_before_ += entry.connection->frames_sent();
  entry.connection.reset();
  entry.phase = Phase::Waiting;
  resume_logins(entries_, *access_.login);
  const TimePoint now = options_.clock->now();
  if (known_.has_left(entry.node)) {
    entry.phase = Phase::Left;
    entry.give_up_at = now + kLeavingTime;
  }
  // Nobody gives up for what passes in a moment; a node that never answers has failed.
  entry.failed = !is_login_put_off(code) || entry.logins_unanswered > 1;
  entry.failure = {unanswered ? reason + std::string{kWhichPort} : reason, code};
  entry.breaker.trip(now);
  if (code == protocol::ErrorCode::CredentialsExposed) {
    entry.rests_until = now + kExposedRest;
  }
  if (!was_ready) {
    entry.change_address();
  }
  for (const protocol::NodeAddress& node : is_local(entry.address) ? cluster_.nodes : kNone) {
    learn_address(node);
  }
  if (was_ready) {
    ++reconnects_;
    events_.on_lost(entry.node, entry.address + ": " + reason);
  } else {
    events_.on_failed(entry.node);
  }
}

void NodeSet::flush() {
  for (const auto& entry : entries_) {
    if (entry->connection != nullptr) {
      entry->connection->flush();
    }
  }
}

NodeSet::Entry* NodeSet::find(NodeId node) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const auto& entry) { return entry->node == node && entry->is_used(); });
  return node != NodeId{} && found != entries_.end() ? found->get() : nullptr;
}

NodeSet::Entry* NodeSet::find_ready(NodeId node) const {
  Entry* entry = find(node);
  return entry != nullptr && entry->phase == Phase::Ready ? entry : nullptr;
}

std::uint64_t NodeSet::frames_sent() const {
  std::uint64_t sent = frames_before_;
  for (const auto& entry : entries_) {
    sent += entry->connection != nullptr ? entry->connection->frames_sent() : 0;
  }
  return sent;
}

}  // namespace gcoord::client
