// How far the nodes are with a watch, on demand (Watch::progress).
//
// All streams of the watch are asked, and the ask is answered when each has said how far it is
// after it took the question. A stream that is opened again meanwhile, because its node was lost or
// its queue was full, is asked again. Who asks during that is answered by another round.
#include "client/watches/watch_feed.h"

#include <algorithm>

namespace gcoord::client {

void WatchFeed::ask(std::uint64_t number) {
  const auto found = entries_.find(number);
  if (found == entries_.end() || found->second.ask != 0) {
    return;
  }
  Entry& entry = found->second;
  entry.ask = entry.state->asked();
  for (Stream& stream : entry.streams) {
    stream.asking = AskStage::Wanted;
    ask(entry, stream);
  }
  if (phase_ == Phase::Ready) {
    connection_->flush();
  }
}

void WatchFeed::ask(const Entry& entry, Stream& stream) {
  if (stream.asking == AskStage::None || stream.request_id == 0 || phase_ != Phase::Ready) {
    return;  // It is asked when it is open.
  }
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::WatchProgress;
  slot.request_id = next_aside();
  slot.sequence = stream.request_id;
  stream.asking = AskStage::Sent;
  stream.ask_id = slot.request_id;
  asks_[slot.request_id] = {streams_.at(stream.request_id).first,
                            static_cast<std::size_t>(&stream - entry.streams.data())};
  connection_->send(slot, {});
}

void WatchFeed::on_ask_taken(std::uint64_t ask_id) {
  const auto asked = asks_.find(ask_id);
  if (asked == asks_.end()) {
    return;  // A sign of life.
  }
  const auto [number, index] = asked->second;
  asks_.erase(asked);
  const auto entry = entries_.find(number);
  if (entry == entries_.end() || entry->second.streams[index].ask_id != ask_id) {
    return;  // The stream is another one by now.
  }
  entry->second.streams[index].asking = AskStage::Taken;
}

void WatchFeed::on_progress_end(Stream& stream, std::uint64_t number) {
  if (stream.asking != AskStage::Taken) {
    return;
  }
  stream.asking = AskStage::None;
  Entry& entry = entries_.at(number);
  const bool whole = std::ranges::all_of(
      entry.streams, [](const auto& each) { return each.asking == AskStage::None; });
  if (whole) {
    const std::uint64_t answered = std::exchange(entry.ask, 0);
    entry.state->set_answered(answered);
    if (entry.state->asked() > answered) {
      ask(number);
    }
  }
}

// What was sent on a connection that is gone.
void WatchFeed::forget_asks() {
  asks_.clear();
  for (auto& [number, entry] : entries_) {
    for (Stream& stream : entry.streams) {
      stream.ask_id = 0;
      stream.asking = stream.asking == AskStage::None ? AskStage::None : AskStage::Wanted;
    }
  }
}

}  // namespace gcoord::client
