#include "client/watches/watch_feed.h"

#include "client/net/asio.h"
#include "client/net/failure.h"
#include "client/net/tls_access.h"
#include "common/assert.h"
#include "common/name_hash.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::client {
namespace {

// How often silence and due attempts are looked at. Real time: no test depends on it.
constexpr std::chrono::milliseconds kLook{100};

// A node that is kept for so long serves all watches.
constexpr std::chrono::milliseconds kSettled{1000};

// A node that was asked for a sign of life in the first third answers within the rest, or is left.
constexpr int kSilenceParts = 3;

constexpr const char* kLacking = "is of a release that lacks a feature of the watch";

bool is(const protocol::ReplySlot& slot, protocol::ErrorCode code) {
  return slot.detail == static_cast<std::uint32_t>(code);
}

// Whether another node may do what this one does not.
bool may_go_elsewhere(const protocol::ReplySlot& slot) {
  using protocol::ErrorCode;
  return is(slot, ErrorCode::WatchCutOff) || is(slot, ErrorCode::WatchesExhausted) ||
         is(slot, ErrorCode::KindUnknown) || is(slot, ErrorCode::NotReady) ||
         is(slot, ErrorCode::Overloaded) || is(slot, ErrorCode::RateExceeded) ||
         is(slot, ErrorCode::ShuttingDown) || is(slot, ErrorCode::RightsUnconfirmed);
}

}  // namespace

struct WatchFeed::Loop {
  explicit Loop(const TlsOptions& options) : tls(TlsAccess::for_options(options)) {}

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::steady_timer timer{context};
  const std::shared_ptr<TlsAccess> tls;  // nullptr: plain TCP.
};

WatchFeed::WatchFeed(ClientOptions options, WatchNodes nodes)
    : options_(std::move(options)),
      loop_(std::make_unique<Loop>(options_.tls)),
      backoff_({.min = options_.backoff_min, .max = options_.backoff_max, .seed = options_.seed}),
      nodes_(std::move(nodes)),
      cluster_(options_.cluster_id) {}

WatchFeed::~WatchFeed() {
  stop();
}

void WatchFeed::start() {
  thread_ = std::thread([this] { loop_->context.run(); });
  thread_id_ = thread_.get_id();
  post([this] {
    connect();
    arm();
  });
}

void WatchFeed::stop() {
  if (!thread_.joinable()) {
    return;
  }
  post([this] {
    stopped_ = true;
    loop_->timer.cancel();
    if (connection_ != nullptr) {
      connection_->abandon();
      connection_.reset();
    }
    for (auto& [number, entry] : entries_) {
      entry.state->fail(failure(protocol::ErrorCode::ClientClosed));
    }
    entries_.clear();
    streams_.clear();
    loop_->context.stop();
  });
  thread_.join();
}

void WatchFeed::post(std::function<void()> work) {
  asio::post(loop_->context, std::move(work));
}

void WatchFeed::add(const std::shared_ptr<WatchState>& state) {
  const std::uint64_t number = ++newest_;
  const auto later = [weak = weak_from_this(), number](void (WatchFeed::*work)(std::uint64_t)) {
    return [weak, number, work] {
      if (const auto feed = weak.lock()) {
        feed->post([feed = feed.get(), number, work] { (feed->*work)(number); });
      }
    };
  };
  state->set_hooks({.on_room = later(&WatchFeed::resume),
                    .on_close = later(&WatchFeed::remove),
                    .on_ask = later(&WatchFeed::ask),
                    .on_own_thread = [weak = weak_from_this()] {
                      const auto feed = weak.lock();
                      return feed && feed->on_own_thread();
                    }});
  post([this, state, number] {
    Entry& entry = entries_[number];
    entry.state = state;
    if (phase_ != Phase::Ready) {
      return;
    }
    if (seeks_another()) {
      return move_on(kLacking);
    }
    open(entry);
    connection_->flush();
  });
}

void WatchFeed::remove(std::uint64_t number) {
  const auto entry = entries_.find(number);
  if (entry == entries_.end()) {
    return;
  }
  for (Stream& stream : entry->second.streams) {
    close(stream);
  }
  entries_.erase(entry);
}

void WatchFeed::resume(std::uint64_t number) {
  const auto entry = entries_.find(number);
  if (entry == entries_.end() || !entry->second.resting) {
    return;
  }
  entry->second.resting = false;
  if (phase_ == Phase::Ready) {
    open(entry->second);
    connection_->flush();
  }
}

void WatchFeed::fail(std::uint64_t number, const Status& status, Revision first) {
  const auto entry = entries_.find(number);
  const auto state = entry->second.state;
  remove(number);
  state->fail(status, first);
}

void WatchFeed::connect() {
  phase_ = Phase::Connecting;
  nodes_.note_begun();
  pace_.give_up_at = options_.clock->now() + TimePoint{options_.connect_timeout};
  connection_ = std::make_shared<Connection>(loop_->context, *options_.clock, loop_->tls);
  Connection::Events events;
  events.on_connected = [this] {
    protocol::RequestSlot hello;
    hello.kind = protocol::RequestKind::Hello;
    connection_->send(
        hello,
        protocol::encode(protocol::Hello{.cluster = cluster_, .client = options_.client_name}));
    log_in_early();
  };
  events.on_reply = [this](const protocol::ReplySlot& slot, auto payload) {
    on_reply(slot, payload);
  };
  events.on_batch_end = [this] {
    if (connection_ != nullptr) {
      connection_->flush();
    }
  };
  events.on_closed = [this](const std::string& reason) { on_closed(reason); };
  connection_->connect(nodes_.current(), std::move(events));
}

void WatchFeed::on_closed(const std::string& reason) {
  evidence_ = nodes_.current() + ": " + reason;
  const bool was_ready = phase_ == Phase::Ready;
  reconnects_ += was_ready ? 1 : 0;
  nodes_.note_ended();
  phase_ = Phase::Resting;
  connection_.reset();
  streams_.clear();
  forget_asks();
  for (auto& [number, entry] : entries_) {
    for (Stream& stream : entry.streams) {
      stream.request_id = 0;
      // Whose past others have refused, this one does not save now.
      if (!was_ready && !stream.refused_by.empty()) {
        stream.refused_by.insert(nodes_.current());
      }
    }
  }
  nodes_.go_to_next();
  // A round over all nodes at once, then with growing pauses.
  const bool round = pace_.attempt % nodes_.size() == 0;
  const auto rounds = static_cast<std::uint32_t>(pace_.attempt / nodes_.size());
  pace_.retry_at =
      options_.clock->now() + (round && pace_.attempt != 0 ? backoff_.pace(rounds) : TimePoint{});
  ++pace_.attempt;
  tick();
}

// Another node, with all watches. What is on its way from this one is not read any more.
void WatchFeed::move_on(const std::string& reason) {
  connection_->close(reason);
}

void WatchFeed::on_reply(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  if (is_login(slot)) {
    return on_authenticated(slot, payload);
  }
  if (phase_ == Phase::Connecting) {
    return on_welcome(slot, payload);
  }
  if (slot.kind == protocol::RequestKind::WatchProgress && slot.code == gcoord::StatusCode::Ok) {
    return on_ask_taken(slot.request_id);
  }
  if (slot.kind != protocol::RequestKind::WatchOpen) {
    return;  // Closed.
  }
  if (slot.code != gcoord::StatusCode::Ok) {
    return on_error(slot.request_id, slot, payload);
  }
  const auto message = protocol::decode_watch_message(payload);
  if (!message.ok()) {
    return move_on("sent events that cannot be decoded");
  }
  on_message(slot.request_id, message.value());
}

void WatchFeed::on_welcome(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  const auto welcome = protocol::decode_welcome(payload);
  if (slot.code != gcoord::StatusCode::Ok || !welcome.ok()) {
    return move_on("refused the connection");
  }
  const bool foreign = cluster_.value != 0 && welcome.value().cluster != cluster_;
  const bool reshaped = shard_count_ != 0 && welcome.value().shard_count != shard_count_;
  if (foreign || reshaped || welcome.value().shard_count == 0) {
    return move_on("belongs to another cluster");
  }
  if ((welcome.value().features & static_cast<std::uint64_t>(protocol::Feature::Watches)) == 0) {
    return move_on("is of a release without watches");
  }
  cluster_ = welcome.value().cluster;
  shard_count_ = welcome.value().shard_count;
  for (const protocol::NodeAddress& node : welcome.value().nodes) {
    nodes_.learn(node.address);
  }
  for (auto& [number, entry] : entries_) {
    if (entry.streams.empty()) {
      make_streams(entry);
    }
  }
  node_ = WatchFeatures::of(welcome.value().features);
  if (seeks_another()) {
    return move_on(kLacking);
  }
  if (nodes_.login() == nullptr || !node_.identifies) {
    begin();
  } else if (!nodes_.shown().sent()) {
    log_in();
  }
}

void WatchFeed::make_streams(Entry& entry) {
  const WatchOptions& options = entry.state->options();
  if (target_of(options) == protocol::WatchTarget::Name) {
    const ShardId shard = shard_of(hash_name(options.name), shard_count_);
    entry.streams.push_back({.shard_first = shard.value, .shard_count = 1});
    return begin_at(*entry.state, shard.value);
  }
  for (std::uint32_t first = 0; first < shard_count_; first += protocol::kWatchShardsMax) {
    entry.streams.push_back(
        {.shard_first = first,
         .shard_count = std::min(protocol::kWatchShardsMax, shard_count_ - first)});
  }
  for (const Revision& each : options.from) {
    entry.state->begin_at(each.shard, each.revision);
  }
}

// A watch of a name goes on from one place, which may be where its lock was moved to. Of several,
// which are of another kind of watch, only that of the home says when it was.
void WatchFeed::begin_at(WatchState& state, std::uint32_t home) {
  const WatchOptions& options = state.options();
  if (options.from_revision != 0) {
    return state.begin_at(home, options.from_revision);
  }
  for (const Revision& each : options.from) {
    if (each.shard == home || options.from.size() == 1) {
      return state.begin_at(each.shard, each.revision);
    }
  }
}

void WatchFeed::open(Entry& entry) {
  if (entry.resting) {
    return;
  }
  if (entry.streams.empty()) {
    make_streams(entry);
  }
  for (Stream& stream : entry.streams) {
    if (stream.request_id == 0) {
      open(entry, stream);
    }
  }
}

void WatchFeed::open(Entry& entry, Stream& stream) {
  WatchOpening opening =
      make_opening(*entry.state, {stream.shard_first, stream.shard_count}, node_);
  opening.slot.request_id = ++request_newest_;
  stream.request_id = opening.slot.request_id;
  const auto number = std::ranges::find_if(entries_, [&](const auto& each) {
                        return &each.second == &entry;
                      })->first;
  streams_[stream.request_id] = {number, static_cast<std::size_t>(&stream - entry.streams.data())};
  for (auto& shown : nodes_.shown_before(opening.query.session.value)) {
    shown.slot.request_id = next_aside();
    connection_->send(shown.slot, shown.key.bytes());
  }
  connection_->send(opening.slot, protocol::encode_watch_query(opening.query));
  ask(entry, stream);
}

void WatchFeed::close(Stream& stream) {
  if (stream.request_id == 0) {
    return;
  }
  streams_.erase(stream.request_id);
  if (phase_ == Phase::Ready) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::WatchClose;
    slot.request_id = next_aside();
    slot.sequence = stream.request_id;
    connection_->send(slot, {});
    connection_->flush();
  }
  stream.request_id = 0;
}

WatchFeed::Stream* WatchFeed::find(std::uint64_t request_id, std::uint64_t& number) {
  const auto found = streams_.find(request_id);
  if (found == streams_.end()) {
    return nullptr;
  }
  number = found->second.first;
  return &entries_.at(number).streams[found->second.second];
}

void WatchFeed::on_message(std::uint64_t id, const protocol::WatchMessage& message) {
  std::uint64_t number = 0;
  Stream* const stream = find(id, number);
  if (stream == nullptr) {
    return;  // Of a watch that is closed, or rests.
  }
  Entry& entry = entries_.at(number);
  stream->refused_by.clear();
  if (message.kind == protocol::WatchMessageKind::Progress) {
    entry.state->note(message.progress);
    stream->started = stream->started || message.progress.last;
    if (!entry.started && std::ranges::all_of(entry.streams, &Stream::started)) {
      entry.started = true;
      entry.state->set_started();
    }
    if (message.progress.last) {
      on_progress_end(*stream, number);
    }
    return;
  }
  for (const protocol::WatchBlock& block : message.blocks) {
    if (!entry.state->accept(block)) {
      entry.resting = true;
      for (Stream& each : entry.streams) {
        close(each);
      }
      return;
    }
  }
}

void WatchFeed::on_error(std::uint64_t id,
                         const protocol::ReplySlot& slot,
                         std::span<const std::byte> payload) {
  std::uint64_t number = 0;
  Stream* const stream = find(id, number);
  if (stream == nullptr) {
    return;
  }
  if (is(slot, protocol::ErrorCode::WatchCompacted)) {
    return on_compacted(id, slot);
  }
  streams_.erase(id);
  stream->request_id = 0;
  if (is(slot, protocol::ErrorCode::WatchLagging)) {
    return open(entries_.at(number), *stream);
  }
  if (may_go_elsewhere(slot)) {
    return move_on("does not serve the watch (GC" + std::to_string(slot.detail) + ")");
  }
  const auto* known = protocol::find_error(slot.detail);
  fail(number,
       known != nullptr ? failure(known->code, reason_in(payload))
                        : failure(protocol::ErrorCode::ReplyMalformed));
}

// The node has lost the past that is wanted; perhaps another has it.
void WatchFeed::on_compacted(std::uint64_t id, const protocol::ReplySlot& slot) {
  std::uint64_t number = 0;
  Stream* const stream = find(id, number);
  streams_.erase(id);
  stream->request_id = 0;
  stream->refused_by.insert(nodes_.current());
  if (stream->refused_by.size() < nodes_.size()) {
    return move_on("no longer has the past events of a watch");
  }
  fail(number,
       failure(protocol::ErrorCode::WatchCompacted,
               "shard " + std::to_string(slot.shard) + " begins with revision " +
                   std::to_string(slot.extra)),
       {slot.shard, slot.extra});
}

void WatchFeed::arm() {
  loop_->timer.expires_after(kLook);
  loop_->timer.async_wait([this](const asio::error_code& error) {
    if (!error && !stopped_) {
      tick();
      arm();
    }
  });
}

void WatchFeed::tick() {
  const TimePoint now = options_.clock->now();
  if (phase_ == Phase::Resting && now >= pace_.retry_at && !stopped_) {
    return connect();
  }
  if (phase_ == Phase::Connecting && now >= pace_.give_up_at) {
    pace_.give_up_at = TimePoint::max();
    return move_on("no answer within the connect timeout");
  }
  if (phase_ != Phase::Ready) {
    return;
  }
  renew_login(now);
  if (streams_.empty()) {
    return;
  }
  // Not before: a node that serves one watch and refuses another must not be asked without a pause.
  pace_.attempt = now - pace_.ready_at >= kSettled ? 0 : pace_.attempt;
  const TimePoint silence = now - connection_->last_received();
  const TimePoint patience{options_.request_timeout};
  if (silence >= patience) {
    return move_on("no sign of life within the request timeout");
  }
  if (silence >= patience / kSilenceParts) {
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::WatchProgress;
    slot.request_id = next_aside();
    slot.sequence = streams_.begin()->first;
    connection_->send(slot, {});
    connection_->flush();
  }
}

}  // namespace gcoord::client
