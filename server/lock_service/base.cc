#include "server/lock_service/base.h"

namespace gcoord::server {

namespace {

locks::LockOptions lock_options(const LockServiceOptions& options) {
  locks::LockOptions result;
  result.shard_count = options.limits.shard_count;
  result.limits = options.caps;
  result.clock.tick_ms = options.tick_ms;
  result.clock.index_seed = options.index_seed;
  result.index_seed = options.index_seed;
  result.group_answers_apart = options.on_device;
  result.part_shards = options.part_shards;
  return result;
}

}  // namespace

LockServiceBase::LockServiceBase(const LockServiceOptions& options,
                                 protocol::ReplySink& sink,
                                 MetricsRegistry& registry)
    : metrics(registry),
      budget(registry),
      slow(options.slow_request_ms, sink, registry),
      clock{.tick_ms = options.tick_ms},
      locks(lock_options(options)),
      groups(options.limits.shard_count, options.index_seed),
      asks(options.tick_ms),
      log({pending, sink, metrics, options.wall_ms}),
      replies(sink, metrics, slow),
      leaders(options.limits.shard_count, log),
      locator(options.limits.shard_count, locks),
      views({options.limits.shard_count, options.tick_ms},
            locks,
            [this](ShardId shard) { return leaders.leads(shard); }),
      admission(options.session_locks_max, views, SpaceAdmission{options.disk_is_low}) {}

GatheredEnds::Groups LockServiceBase::expiring_groups() const {
  return {.of_session =
              [this](ShardId shard, SessionId session, std::vector<std::uint32_t>& numbers) {
                groups.groups_of(shard, session, [&](membership::GroupRow row) {
                  numbers.push_back(row.value);
                  return numbers.size() < kGatherGroupsMax;
                });
              },
          .members =
              [this](std::uint32_t number, std::vector<SessionId>& sessions) {
                groups.sessions_in(membership::GroupRow{number}, sessions);
              }};
}

}  // namespace gcoord::server
