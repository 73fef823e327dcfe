#include "server/snapshots/downloads.h"

#include "protocol/error_codes.h"
#include "protocol/ledger/snapshot_messages.h"
#include "protocol/lock_messages.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;
using protocol::RequestKind;

void SnapshotDownloads::on_request(protocol::ConnectionId connection,
                                   const protocol::RequestSlot& request,
                                   std::span<const std::byte> payload) {
  GCOORD_ASSERT(request.kind == RequestKind::SnapshotOpen ||
                request.kind == RequestKind::SnapshotRead);
  if (request.flags != 0) {
    refuse(connection, request, protocol::make_error(ErrorCode::SlotInvalid));
  } else if (request.kind == RequestKind::SnapshotOpen) {
    on_open(connection, request);
  } else {
    on_read(connection, request, payload);
  }
}

void SnapshotDownloads::refuse(protocol::ConnectionId connection,
                               const protocol::RequestSlot& request,
                               const Status& status) {
  protocol::ReplySlot reply = protocol::reply_to(request);
  reply.code = status.code();
  reply.detail = status.detail();
  environment_.replies.reply(connection, reply, protocol::bytes_of(status.message()));
}

// Whether there is a place, if need be that of the save which stands still for the longest time.
bool SnapshotDownloads::make_room() {
  if (saves_.size() < kSavesMax) {
    return true;
  }
  const auto oldest = std::ranges::min_element(saves_, {}, &Save::read_at_ms);
  if (oldest->waiting || now_ms_ - oldest->read_at_ms < kSaveYieldsMs) {
    return false;
  }
  saves_.erase(oldest);
  return true;
}

void SnapshotDownloads::on_open(protocol::ConnectionId connection,
                                const protocol::RequestSlot& request) {
  if (environment_.engine.checkpoints() == nullptr) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SnapshotNotServed));
  }
  // What it lacks comes from the others by and by: until then a save of it would lack shards.
  const NodeView view = environment_.engine.view();
  if (view.rejoining || view.forgotten_count != 0) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SnapshotBusy));
  }
  if (!make_room()) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SnapshotBusy));
  }
  Save save;
  save.number = ++newest_;
  save.checkpoint = environment_.engine.request_checkpoint();
  save.opened_ms = now_ms_;
  save.read_at_ms = now_ms_;
  if (may_pin()) {
    save.pin = environment_.pin();
  }
  saves_.push_back(std::move(save));
  log_debug(LogComponent::Disk,
            "snapshot {} begins, for {}",
            newest_,
            environment_.replies.describe(connection));
  protocol::ReplySlot reply = protocol::reply_to(request);
  reply.extra = newest_;
  environment_.replies.reply(connection, reply, {});
}

// Space comes first: on a disk that is low history has to go.
bool SnapshotDownloads::may_pin() const {
  return environment_.pin && !(environment_.disk_is_low && environment_.disk_is_low());
}

SnapshotDownloads::Save* SnapshotDownloads::find(std::uint64_t number) {
  const auto found = std::ranges::find(saves_, number, &Save::number);
  return found == saves_.end() ? nullptr : &*found;
}

void SnapshotDownloads::on_read(protocol::ConnectionId connection,
                                const protocol::RequestSlot& request,
                                std::span<const std::byte> payload) {
  const auto read = protocol::decode_snapshot_read(payload);
  if (!read.ok()) {
    return refuse(connection, request, read.status());
  }
  Save* const save = find(read.value().save);
  if (save == nullptr) {
    return refuse(connection, request, protocol::make_error(ErrorCode::SnapshotGone));
  }
  const std::uint64_t offset = read.value().offset;
  if (save->piece && !save->piece->last && offset == save->offset + save->piece->bytes.size()) {
    save->offset = offset;
    save->piece.reset();
  }
  if (offset != save->offset) {
    return refuse(connection, request, protocol::make_error(ErrorCode::PayloadMalformed, "offset"));
  }
  if (save->waiting) {
    answer(*save);  // A client reads one piece at a time: it has given that read up.
  }
  save->waiting = Waiting{connection, request, now_ms_};
  save->read_at_ms = now_ms_;
  advance(*save);
}

void SnapshotDownloads::advance(std::uint64_t now_ms) {
  GCOORD_ASSERT(now_ms_ <= now_ms);
  now_ms_ = now_ms;
  for (Save& save : saves_) {
    advance(save);
  }
  std::erase_if(saves_, [this](const Save& save) {
    return !save.waiting && now_ms_ - save.read_at_ms >= kSaveEndsMs;
  });
}

void SnapshotDownloads::advance(Save& save) {
  if (save.stream == nullptr && save.failure.ok()) {
    const auto outcome = environment_.engine.checkpoint_outcome(save.checkpoint);
    if (outcome && outcome->ok()) {
      ledger::SnapshotHeader header = environment_.make_header();
      header.ledger = environment_.frontier_at != nullptr;
      save.stream = std::make_unique<SnapshotStream>(*environment_.engine.checkpoints(),
                                                     std::move(header),
                                                     environment_.frontier_at,
                                                     environment_.wake);
    } else if (outcome) {
      save.failure = *outcome;
    }
  }
  if (save.stream != nullptr && !save.piece && save.failure.ok()) {
    if (auto taken = save.stream->take(); taken && taken->ok()) {
      save.piece = std::move(*taken).value();
    } else if (taken) {
      save.failure = taken->status();
    }
  }
  const bool ended = (save.piece && save.piece->last) || !save.failure.ok();
  if (save.pin && (ended || now_ms_ - save.opened_ms >= kSavePinsMs || !may_pin())) {
    save.pin.reset();
  }
  const bool due = save.waiting && now_ms_ - save.waiting->since_ms >= kReadPatienceMs;
  if (save.waiting && (due || save.piece || !save.failure.ok())) {
    answer(save);
  }
}

void SnapshotDownloads::answer(Save& save) {
  const Waiting waiting = *save.waiting;
  save.waiting.reset();
  if (!save.failure.ok()) {
    log_debug(LogComponent::Disk, "snapshot {} fails: {}", save.number, save.failure.to_string());
    return refuse(waiting.connection, waiting.request, save.failure);
  }
  protocol::ReplySlot reply = protocol::reply_to(waiting.request);
  reply.extra = save.offset + (save.piece ? save.piece->bytes.size() : 0);
  if (save.piece && save.piece->last) {
    log_debug(LogComponent::Disk, "snapshot {} ends after {} bytes", save.number, reply.extra);
    reply.set(protocol::ReplyFlag::Last);
  }
  environment_.replies.reply(
      waiting.connection,
      reply,
      save.piece ? std::span<const std::byte>{save.piece->bytes} : std::span<const std::byte>{});
}

}  // namespace gcoord::server
