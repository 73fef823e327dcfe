#include "server/host_turn/settler.h"

#include "server/host_turn/prefetch_rows.h"

namespace gcoord::server {
namespace {

// Rows that are settled between two looks at the peers' credit and at the clock: as many as are
// stepped together.
constexpr std::uint32_t kLookEvery = 128;

}  // namespace

void Settler::begin(const consensus::StepInput& input) {
  input_ = input;
  settled_ = 0;
  env_.look_at_credit();
}

void Settler::on_stored(const TurnRecord::Ack& ack) {
  const consensus::StorageAck stored{ack.term, ack.vote, 1};
  if (env_.rows.active.find(ack.row) == nullptr) {
    in_.message_count = 0;
    in_.storage_ack = stored;
    if (settle(ack.row, {})) {
      return;
    }
  }
  env_.rows.active.touch(ack.row).storage_ack = stored;
}

void Settler::take(Arrivals& arrivals) {
  std::size_t count = 0;
  for (; count < arrivals.size(); ++count) {
    if (count != 0 && count % kLookEvery == 0 && env_.out_of_time()) {
      break;
    }
    if (count + kRowsAhead < arrivals.size()) {
      prefetch_row(env_.rows.columns(), arrivals[count + kRowsAhead].row);
    }
    on_arrival(arrivals, count);
  }
  arrivals.take(count);
}

void Settler::on_arrival(const Arrivals& arrivals, std::size_t k) {
  const Arrival& arrival = arrivals[k];
  const std::span<const std::byte> extent = arrivals.extent(arrival);
  if (arrivals.alone(k) && env_.rows.active.find(arrival.row) == nullptr) {
    in_.storage_ack = {};
    in_.message_count = 1;
    in_.message[0] = arrival.message;
    if (settle(arrival.row, extent)) {
      return;
    }
  }
  if (!env_.rows.active.add_message(arrival.row, arrival.message, extent)) {
    env_.metrics.dropped(ReplicaDrop::Overrun).add();
  }
}

// `extent`: the entries of the message.
bool Settler::settle(std::uint32_t row, std::span<const std::byte> extent) {
  const RowBefore before{env_.rows.ref(row).hot(), env_.rows.ref(row).log()};
  if (!env_.rows.stepper->settle({row, in_, input_}, out_)) {
    return false;
  }
  if (out_.stored[0].value != 0) {
    env_.storage.store_entries(row, {in_.message[0], extent}, out_.stored[0]);
  }
  env_.drain.carry_out(row, out_);
  env_.drain.conclude(row, before, out_);
  env_.drain.step_again(row, out_);
  ++env_.turn.done;
  env_.metrics.settled.add();
  if (++settled_ % kLookEvery == 0) {
    env_.look_at_credit();
  }
  return true;
}

}  // namespace gcoord::server
