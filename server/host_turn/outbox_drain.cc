#include "server/host_turn/outbox_drain.h"

namespace gcoord::server {

void OutboxDrain::carry_out(std::uint32_t row, const consensus::Outbox& out) {
  env_.storage.persist(row, out.storage);
  for (std::uint32_t m = 0; m < out.message_count; ++m) {
    env_.messages.send(row, out.message[m]);
  }
  if (out.apply.first.value != 0 && out.apply.first <= out.apply.last) {
    env_.applies.add(row, out.apply.first, out.apply.last);
  }
}

void OutboxDrain::conclude(std::uint32_t row,
                           const RowBefore& before,
                           const consensus::Outbox& out) {
  env_.reports.announce(row, before, out.cause);
  env_.readmission.note(row);
  env_.members.note(row);
  const consensus::ShardRef shard = env_.rows.ref(row);
  env_.rows.deadlines.lower(row, shard.hot().deadline);
  if (shard.log().floor != before.log.floor) {
    env_.rows.log.compact(row, shard.log().floor);
  }
  if (out.dropped != 0) {
    env_.reports.on_dropped(out.dropped);
  }
}

void OutboxDrain::step_again(std::uint32_t row, const consensus::Outbox& out) {
  if (out.again == 0) {
    return;
  }
  if ((env_.rows.ref(row).hot().flags & consensus::kRowStalled) != 0) {
    env_.rows.stall(row);
  } else {
    env_.rows.active.touch(row);
  }
}

}  // namespace gcoord::server
