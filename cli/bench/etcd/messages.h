// Requests and replies of etcd's v3 interface that the bench needs, as bytes (protobuf.h).
//
// Numbers of fields are those of etcd's rpc.proto, kv.proto, v3lock.proto and v3election.proto, the
// same in 3.4 and 3.5. Pure.
#pragma once

#include "cli/bench/etcd/protobuf.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

inline constexpr const char* kEtcdStatus = "/etcdserverpb.Maintenance/Status";
inline constexpr const char* kEtcdTxn = "/etcdserverpb.KV/Txn";
inline constexpr const char* kEtcdRange = "/etcdserverpb.KV/Range";
inline constexpr const char* kEtcdDelete = "/etcdserverpb.KV/DeleteRange";
inline constexpr const char* kEtcdLeaseGrant = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr const char* kEtcdLeaseRevoke = "/etcdserverpb.Lease/LeaseRevoke";
inline constexpr const char* kEtcdWatch = "/etcdserverpb.Watch/Watch";
inline constexpr const char* kEtcdLock = "/v3lockpb.Lock/Lock";
inline constexpr const char* kEtcdCampaign = "/v3electionpb.Election/Campaign";

std::string etcd_lease_grant(std::int64_t ttl_s);
std::string etcd_lease_revoke(std::int64_t lease);
std::int64_t etcd_lease_of(std::string_view reply);

// The key that clientv3/concurrency makes for a lock or an election: NAME/LEASE, in hex.
std::string etcd_hold_key(const std::string& name, std::int64_t lease);

// The transaction of its Mutex: puts the key if it is absent, and asks whose key is the oldest.
std::string etcd_hold(const std::string& name, std::int64_t lease);

struct EtcdHeld {
  bool held = false;           // Our key is the oldest.
  std::uint64_t revision = 0;  // Of the transaction.
};

EtcdHeld etcd_held_of(std::string_view reply, const std::string& key);

// For Lock and Campaign, which make the same key and wait until it is the oldest.
std::string etcd_await_lock(const std::string& name, std::int64_t lease);
std::string etcd_await_office(const std::string& name, std::int64_t lease);

std::string etcd_delete(const std::string& key);
std::string etcd_delete_prefix(const std::string& prefix);
std::string etcd_range(const std::string& key);

// One transaction; etcd takes 128 keys at most.
inline constexpr std::size_t kEtcdPutsMax = 128;
std::string etcd_put_all(const std::vector<std::string>& keys);

// Puts of keys with this prefix.
std::string etcd_watch_prefix(const std::string& prefix);

struct EtcdEvent {
  std::string_view key;  // Within the reply.
  std::uint64_t revision = 0;
};

struct EtcdWatchReply {
  bool created = false;
  bool cancelled = false;
  std::vector<EtcdEvent> events;
};

EtcdWatchReply etcd_watch_reply_of(std::string_view reply);

struct EtcdStatusReply {
  std::uint64_t member = 0;
  std::uint64_t leader = 0;
  std::string version;
};

EtcdStatusReply etcd_status_reply_of(std::string_view reply);

}  // namespace gcoord::cli
