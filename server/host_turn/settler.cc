#include "server/host_turn/settler.h"

namespace gcoord::server {
namespace {

// Rows that are settled between two looks at the peers' credit: as many as are stepped together.
constexpr std::uint32_t kCreditEvery = 128;

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
    if (settle(ack.row)) {
      return;
    }
  }
  env_.rows.active.touch(ack.row).storage_ack = stored;
}

void Settler::on_notice(const ReceivedNotice& notice) {
  if (env_.rows.active.find(notice.row) == nullptr) {
    in_.storage_ack = {};
    in_.message_count = 1;
    in_.message[0] = notice.message;
    if (settle(notice.row)) {
      return;
    }
  }
  if (!env_.rows.active.add_message(notice.row, notice.message, {})) {
    env_.metrics.dropped(ReplicaDrop::Overrun).add();
  }
}

bool Settler::settle(std::uint32_t row) {
  const RowBefore before{env_.rows.ref(row).hot(), env_.rows.ref(row).log()};
  if (!env_.rows.stepper->settle({row, in_, input_}, out_)) {
    return false;
  }
  for (std::uint32_t m = 0; m < out_.message_count; ++m) {
    env_.messages.send(row, out_.message[m]);
  }
  if (out_.apply.first.value != 0) {
    env_.applies.add(row, out_.apply.first, out_.apply.last);
  }
  env_.reports.announce(row, before, out_.cause);
  ++env_.turn.done;
  env_.metrics.settled.add();
  if (++settled_ % kCreditEvery == 0) {
    env_.look_at_credit();
  }
  return true;
}

}  // namespace gcoord::server
