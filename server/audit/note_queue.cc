#include "server/audit/note_queue.h"

#include "common/bytes.h"
#include "protocol/lease_messages.h"
#include "server/interfaces/cookie_marks.h"
#include "server/interfaces/log_record.h"

#include <utility>

namespace gcoord::server {

namespace {

constexpr std::uint64_t kSendAgainMs = 1000;
constexpr std::uint64_t kProposeAgainMs = 5000;
constexpr std::uint64_t kNoLeaderMs = 200;
constexpr std::size_t kDueAtOnceMax = 1024;
// One peer message has 32 KiB at most.
constexpr std::size_t kMessageBytesMax = 24 << 10;

MetricName notes(std::string result) {
  return {"gcoord_server_session_notes_total",
          "Notes of who is behind a session or an order, by what became of them: proposed here, "
          "sent to the leader of their shard, or dropped.",
          "result",
          std::move(result)};
}

void append_record(const NoteQueue::Item& item, std::vector<std::byte>& message) {
  if (message.empty()) {
    message.push_back(kSessionNotesKind);
  }
  const std::vector<std::byte> record = note_record(item.note, item.origin, item.time_ms);
  ByteWriter writer{message};
  writer.integer(item.shard.value);
  writer.integer(static_cast<std::uint16_t>(record.size()));
  writer.bytes(record.data(), record.size());
}

}  // namespace

NoteQueue::NoteQueue(Environment environment)
    : env_(std::move(environment)),
      proposed_(env_.metrics.counter(notes("proposed"))),
      sent_(env_.metrics.counter(notes("sent"))),
      dropped_(env_.metrics.counter(notes("dropped"))),
      queued_(env_.metrics.gauge({"gcoord_server_session_notes_queued",
                                  "Notes that are not known to be in the log of their shard."})) {}

void NoteQueue::add(Item item, std::uint64_t due_ms) {
  const std::uint64_t number = item.note.number;
  if (items_.contains(number)) {
    return;
  }
  if (items_.size() == kNotesQueuedMax) {
    dropped_.add();
    return;
  }
  items_.emplace(number, Queued{std::move(item), due_ms, 0});
  due_.emplace(due_ms, number);
  queued_.set(items_.size());
}

void NoteQueue::remove(std::uint64_t number) {
  if (const auto found = items_.find(number); found != items_.end()) {
    due_.erase({found->second.due_ms, number});
    items_.erase(found);
    queued_.set(items_.size());
  }
}

bool NoteQueue::is_noted(const Item& item) const {
  if (item.note.kind != security::NoteKind::Session) {
    return false;
  }
  const security::KnownOrigin* const known =
      env_.machine.notes().find(item.shard, SessionId{item.note.number});
  return known != nullptr && known->origin.principal == item.note.origin.principal;
}

void NoteQueue::on_message(std::span<const std::byte> message, std::uint64_t now_ms) {
  ByteReader reader{message.subspan(1)};
  while (reader.ok() && reader.rest_bytes() > 0) {
    const ShardId shard{reader.integer<std::uint32_t>()};
    const auto size = reader.integer<std::uint16_t>();
    const std::string_view bytes = reader.bytes(size);
    const auto record = std::as_bytes(std::span{bytes.data(), bytes.size()});
    const auto header = decode_record_header(record);
    auto note = note_of_record(record);
    if (!reader.ok() || !header || !note || shard.value >= env_.shard_count) {
      dropped_.add();
      return;
    }
    const bool at_home = note->kind == security::NoteKind::Order ||
                         protocol::home_shard(SessionId{note->number}, env_.shard_count) == shard;
    if (at_home) {
      add({shard, header->origin, header->time_ms, *std::move(note)}, now_ms);
    }
  }
}

void NoteQueue::set_due(std::uint64_t number, Queued& queued, std::uint64_t due_ms) {
  due_.erase({queued.due_ms, number});
  queued.due_ms = due_ms;
  due_.emplace(due_ms, number);
}

void NoteQueue::propose(const Item& item) {
  ++proposals_;
  env_.log.propose(item.shard,
                   {note_record(item.note, item.origin, item.time_ms), nullptr},
                   cookie_of(CookieOwner::Notes, proposals_));
  proposed_.add();
}

void NoteQueue::try_one(std::uint64_t number, std::uint64_t now_ms, Messages& messages) {
  Queued& queued = items_.at(number);
  if (is_noted(queued.item)) {
    return remove(number);
  }
  if (++queued.tries > kNoteTriesMax) {
    dropped_.add();
    return remove(number);
  }
  if (!env_.all_have()) {
    return set_due(number, queued, now_ms + kSendAgainMs);
  }
  const ShardView shard = env_.log.view(queued.item.shard);
  if (shard.role == consensus::Role::Leader) {
    set_due(number, queued, now_ms + kProposeAgainMs);
    return propose(queued.item);
  }
  std::vector<std::byte>* const message =
      shard.leader.value == 0 ? nullptr : &messages[shard.leader];
  const bool full = message == nullptr || message->size() > kMessageBytesMax;
  set_due(number, queued, now_ms + (full ? kNoLeaderMs : kSendAgainMs));
  if (!full) {
    append_record(queued.item, *message);
    sent_.add();
  }
}

void NoteQueue::advance(std::uint64_t now_ms) {
  Messages messages;
  for (std::size_t k = 0; k < kDueAtOnceMax && !due_.empty() && due_.begin()->first <= now_ms;
       ++k) {
    try_one(due_.begin()->second, now_ms, messages);
  }
  for (const auto& [node, message] : messages) {
    if (!message.empty()) {
      env_.log.send_peer_message(node, message);  // What is lost is sent again.
    }
  }
}

std::uint64_t NoteQueue::until_next_ms(std::uint64_t now_ms) const {
  if (due_.empty()) {
    return ~std::uint64_t{0};
  }
  const std::uint64_t due_ms = due_.begin()->first;
  return due_ms <= now_ms ? 0 : due_ms - now_ms;
}

}  // namespace gcoord::server
