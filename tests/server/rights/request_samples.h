// Requests of every kind and in every case of it, over names of the test's choice.
#pragma once

#include "common/enumerators.h"
#include "protocol/access/messages.h"
#include "protocol/election_messages.h"
#include "protocol/force_messages.h"
#include "protocol/groups/messages.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "protocol/logs/level_messages.h"
#include "protocol/members/alarm_messages.h"
#include "protocol/move_messages.h"
#include "protocol/past_messages.h"
#include "protocol/read_messages.h"
#include "protocol/rendezvous/messages.h"
#include "protocol/watch_messages.h"
#include "server/rights/demands.h"

#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

struct Sample {
  protocol::RequestSlot slot;
  std::vector<std::byte> payload{};
  SessionStanding standing = SessionStanding::Own;
  std::string_view what = "";

  RequestDemands demands() const { return demands_of(slot, payload, standing); }

  std::string label() const {
    return std::string{protocol::request_kind_name(slot.kind)} + " " + std::string{what};
  }
};

inline std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = protocol::bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

inline protocol::RequestSlot slot_of(protocol::RequestKind kind) {
  protocol::RequestSlot slot;
  slot.kind = kind;
  slot.session = std::uint64_t{1} << 50;
  slot.token = 9;
  return slot;
}

inline Sample with_flag(Sample sample, protocol::RequestFlag flag, std::string_view what) {
  sample.slot.set(flag);
  sample.what = what;
  return sample;
}

inline Sample of_others(Sample sample, std::string_view what) {
  sample.standing = SessionStanding::Unproven;
  sample.what = what;
  return sample;
}

// Its payload is the name, or nothing.
inline Sample plain(protocol::RequestKind kind, std::string_view name = "") {
  return {slot_of(kind), text_bytes(name)};
}

inline std::vector<protocol::TokenCheck> checks_of(const std::vector<std::string>& names) {
  std::vector<protocol::TokenCheck> checks;
  for (const std::string& name : names) {
    checks.push_back({name, FencingToken{9}});
  }
  return checks;
}

inline Sample read_of(const std::vector<std::string>& names, protocol::ReadQuestion question) {
  protocol::LockRead read;
  read.question = question;
  read.names = checks_of(names);
  if (question == protocol::ReadQuestion::Row) {
    for (protocol::TokenCheck& check : read.names) {
      check.token = {};
    }
  }
  const bool rows = question == protocol::ReadQuestion::Row;
  return {slot_of(protocol::RequestKind::LockRead),
          protocol::encode_lock_read(read),
          SessionStanding::Own,
          rows ? "rows" : "verdicts"};
}

inline Sample watch_of(protocol::WatchTarget target, std::string_view text, std::string_view what) {
  protocol::WatchQuery query;
  query.target = target;
  query.text = text;
  query.session =
      target == protocol::WatchTarget::Session ? SessionId{std::uint64_t{1} << 50} : SessionId{};
  protocol::RequestSlot slot = slot_of(protocol::RequestKind::WatchOpen);
  slot.session = 0;
  return {slot, protocol::encode_watch_query(query), SessionStanding::Own, what};
}

inline void add_locks(std::vector<Sample>& samples, const std::vector<std::string>& names) {
  using enum protocol::RequestKind;
  const std::string& name = names.front();
  for (const auto kind :
       {LockAcquire, LockRelease, LockCancel, LockCheck, LockGet, HolderDescribe}) {
    samples.push_back(plain(kind, name));
  }
  samples.push_back(of_others(
      with_flag(plain(LockRelease, name), protocol::RequestFlag::ByToken, ""), "by token"));
  protocol::LockHold hold;
  hold.flags = static_cast<std::uint8_t>(protocol::HoldFlag::Shared);
  hold.permits = 1;
  hold.name = name;
  samples.push_back({slot_of(LockAcquireHold), protocol::encode_hold(hold)});
  samples.push_back(
      {slot_of(LockBreak), protocol::encode_break({true, name, "somebody", "because"})});
  samples.push_back({slot_of(LockMove), protocol::encode_move({ShardId{1}, name})});
  samples.push_back({slot_of(LockGetAt), protocol::encode_past_query({LogIndex{5}, name})});
  samples.push_back({slot_of(LockCheckBatch), protocol::encode_check_batch(checks_of(names))});
  samples.push_back(read_of(names, protocol::ReadQuestion::Row));
  samples.push_back(read_of(names, protocol::ReadQuestion::Verdict));
  samples.push_back({slot_of(LockList), protocol::encode_list_query({.prefix = name})});
  protocol::LockReadList list;
  list.terms.consistency = protocol::ReadConsistency::Serializable;
  list.query.prefix = name;
  samples.push_back({slot_of(LockReadList), protocol::encode_read_list(list)});
}

inline void add_elections(std::vector<Sample>& samples, const std::string& name) {
  using enum protocol::RequestKind;
  const std::vector<std::byte> nomination = protocol::encode_nomination({SessionId{7}, name});
  const Sample proclaim{slot_of(ElectProclaim), protocol::encode_proclamation({name, "value"})};
  const Sample transfer{slot_of(ElectTransfer), nomination};
  for (const Sample& sample : {proclaim, transfer}) {
    samples.push_back(sample);
    samples.push_back(of_others(with_flag(sample, protocol::RequestFlag::ByToken, ""), "by token"));
  }
  samples.push_back({slot_of(ElectAsk), nomination});
  samples.push_back(plain(ElectCandidates, name));
}

inline void add_groups(std::vector<Sample>& samples, const std::string& name) {
  using enum protocol::RequestKind;
  samples.push_back({slot_of(GroupJoin), protocol::encode_group_join({name, "me", ""})});
  samples.push_back(plain(GroupLeave, name));
  samples.push_back({slot_of(GroupGet), protocol::encode_group_query({0, 0, name})});
  samples.push_back({slot_of(GroupBarrier), protocol::encode_group_arrival({2, name})});
  samples.push_back({slot_of(GroupUpdate), protocol::encode_group_update({name, "x"})});
  samples.push_back(
      {slot_of(RendezvousJoin), protocol::encode_rendezvous_join({2, 3, 0, name, {}})});
  samples.push_back(plain(RendezvousLeave, name));
  samples.push_back({slot_of(RendezvousGet), protocol::encode_rendezvous_query({0, name})});
}

inline void add_watches(std::vector<Sample>& samples, const std::string& name) {
  using protocol::RequestFlag;
  using protocol::WatchTarget;

  struct Target {
    WatchTarget target;
    std::string_view text;
    std::string_view what;
  };

  for (const Target& each : {Target{WatchTarget::Name, name, "name"},
                             Target{WatchTarget::Prefix, name, "prefix"},
                             Target{WatchTarget::Session, "", "session"}}) {
    const Sample watch = watch_of(each.target, each.text, each.what);
    samples.push_back(watch);
    samples.push_back(with_flag(watch, RequestFlag::WatchQueue, "with queue"));
    samples.push_back(with_flag(watch, RequestFlag::WatchPrevious, "with previous"));
  }
  samples.push_back(of_others(watch_of(WatchTarget::Session, "", "session"), "session of others"));
  samples.push_back(plain(protocol::RequestKind::WatchClose));
  samples.push_back(plain(protocol::RequestKind::WatchProgress));
}

inline void add_sessions(std::vector<Sample>& samples) {
  using enum protocol::RequestKind;
  for (const auto kind : {OpenSession, KeepAlive, CloseSession, SessionGrant}) {
    samples.push_back(plain(kind));
  }
  Sample chosen = plain(SessionGrant);
  chosen.slot.session = 77;
  chosen.what = "chosen";
  samples.push_back(chosen);
  for (const auto kind : {SessionLosses, SessionShow}) {
    samples.push_back(plain(kind));
    samples.push_back(of_others(plain(kind), "of others"));
  }
  samples.push_back({slot_of(SessionList), protocol::encode_session_query({})});
  samples.push_back({slot_of(SessionList),
                     protocol::encode_session_query({.count_only = true}),
                     SessionStanding::Own,
                     "count"});
}

inline void add_cluster(std::vector<Sample>& samples) {
  using enum protocol::RequestKind;
  for (const auto kind :
       {Hello,         NodeStatus,     ShardList,   ShardShow,     LeaderMap,
        SnapshotOpen,  SnapshotRead,   LedgerPrune, ViewGet,       MemberUpdate,
        MemberChange,  MemberProgress, MemberJoin,  LockDeadlocks, Authenticate,
        SessionAttach, AccessChange,   LimitsGet,   LimitsChange,  LedgerOrders}) {
    samples.push_back(plain(kind));
  }
  samples.push_back({slot_of(LogLevels), protocol::encode_log_levels({"", ""})});
  samples.push_back(plain(SessionDescribe));
  samples.push_back({slot_of(AccessGet), protocol::encode_access_query({})});
  samples.push_back({slot_of(AccessGet),
                     protocol::encode_access_query({.subject = protocol::AccessSubject::Users}),
                     SessionStanding::Own,
                     "rows"});
  samples.push_back({slot_of(AccessGet),
                     protocol::encode_access_query({.subject = protocol::AccessSubject::Self}),
                     SessionStanding::Own,
                     "itself"});
  samples.push_back({slot_of(LogLevels),
                     protocol::encode_log_levels({"debug", "me"}),
                     SessionStanding::Own,
                     "changes"});
  protocol::AlarmOrder order;
  samples.push_back({slot_of(MemberAlarms), protocol::encode_alarm_order(order)});
  order.action = protocol::AlarmAction::Disarm;
  order.who = "me";
  samples.push_back({slot_of(MemberAlarms),
                     protocol::encode_alarm_order(order),
                     SessionStanding::Own,
                     "changes"});
}

// The first name is that of requests about one name, or the prefix of those about many.
inline std::vector<Sample> samples_of(const std::vector<std::string>& names) {
  std::vector<Sample> samples;
  add_locks(samples, names);
  add_elections(samples, names.front());
  add_groups(samples, names.front());
  add_watches(samples, names.front());
  add_sessions(samples);
  add_cluster(samples);
  return samples;
}

}  // namespace gcoord::server
