#include "cli/bench/etcd/messages.h"

#include <array>
#include <cstdio>

namespace gcoord::cli {

namespace {

// ResponseHeader, which is field 1 of every reply.
constexpr std::uint32_t kHeader = 1;
constexpr std::uint32_t kHeaderMember = 2;
constexpr std::uint32_t kHeaderRevision = 3;

// TxnRequest.
constexpr std::uint32_t kCompare = 1;
constexpr std::uint32_t kSuccess = 2;
constexpr std::uint32_t kFailure = 3;

// RequestOp and ResponseOp.
constexpr std::uint32_t kOpRange = 1;
constexpr std::uint32_t kOpPut = 2;

// KeyValue.
constexpr std::uint32_t kKey = 1;
constexpr std::uint32_t kModRevision = 3;

// The end of the range of all keys with the prefix; its last byte is no 0xff here.
std::string prefix_end(std::string prefix) {
  ++prefix.back();
  return prefix;
}

ProtoWriter range_op(const ProtoWriter& range) {
  return ProtoWriter{}.message(kOpRange, range);
}

// RangeRequest: key 1, range_end 2, limit 3, sort_order 5 (ascending is 1), sort_target 6 (by
// creation is 2).
ProtoWriter oldest_of(const std::string& prefix) {
  return ProtoWriter{}
      .bytes(1, prefix)
      .bytes(2, prefix_end(prefix))
      .number(3, 1)
      .number(5, 1)
      .number(6, 2);
}

}  // namespace

std::string etcd_lease_grant(std::int64_t ttl_s) {
  return ProtoWriter{}.number(1, ttl_s).text();
}

std::string etcd_lease_revoke(std::int64_t lease) {
  return ProtoWriter{}.number(1, lease).text();
}

std::int64_t etcd_lease_of(std::string_view reply) {
  return static_cast<std::int64_t>(proto_number(reply, 2));
}

std::string etcd_hold_key(const std::string& name, std::int64_t lease) {
  std::array<char, 24> hex{};
  std::snprintf(hex.data(), hex.size(), "/%llx", static_cast<unsigned long long>(lease));
  return name + hex.data();
}

// Compare: result 1 (equal is 0), target 2 (creation is 1), key 3, create_revision 5. PutRequest:
// key 1, lease 3.
std::string etcd_hold(const std::string& name, std::int64_t lease) {
  const std::string key = etcd_hold_key(name, lease);
  const ProtoWriter absent = ProtoWriter{}.number(1, 0).number(2, 1).bytes(3, key).number(5, 0);
  const ProtoWriter put = ProtoWriter{}.bytes(1, key).number(3, lease);
  const ProtoWriter oldest = range_op(oldest_of(name + "/"));
  return ProtoWriter{}
      .message(kCompare, absent)
      .message(kSuccess, ProtoWriter{}.message(kOpPut, put))
      .message(kSuccess, oldest)
      .message(kFailure, oldest)
      .text();
}

// TxnResponse: responses 3; RangeResponse: kvs 2. The range is the last response.
EtcdHeld etcd_held_of(std::string_view reply, const std::string& key) {
  const std::string_view range = proto_bytes(proto_bytes(reply, 3), kOpRange);
  return {proto_bytes(proto_bytes(range, 2), kKey) == key,
          proto_number(proto_bytes(reply, kHeader), kHeaderRevision)};
}

std::string etcd_await_lock(const std::string& name, std::int64_t lease) {
  return ProtoWriter{}.bytes(1, name).number(2, lease).text();
}

std::string etcd_await_office(const std::string& name, std::int64_t lease) {
  return ProtoWriter{}.bytes(1, name).number(2, lease).text();
}

std::string etcd_delete(const std::string& key) {
  return ProtoWriter{}.bytes(1, key).text();
}

std::string etcd_delete_prefix(const std::string& prefix) {
  return ProtoWriter{}.bytes(1, prefix).bytes(2, prefix_end(prefix)).text();
}

std::string etcd_range(const std::string& key) {
  return ProtoWriter{}.bytes(1, key).text();
}

std::string etcd_put_all(const std::vector<std::string>& keys) {
  ProtoWriter txn;
  for (const std::string& key : keys) {
    txn.message(kSuccess, ProtoWriter{}.message(kOpPut, ProtoWriter{}.bytes(1, key)));
  }
  return txn.text();
}

// WatchRequest: create_request 1; WatchCreateRequest: key 1, range_end 2, filters 5 (no deletions
// is 1).
std::string etcd_watch_prefix(const std::string& prefix) {
  const ProtoWriter create =
      ProtoWriter{}.bytes(1, prefix).bytes(2, prefix_end(prefix)).number(5, 1);
  return ProtoWriter{}.message(1, create).text();
}

// WatchResponse: created 3, canceled 4, events 11; Event: kv 2.
EtcdWatchReply etcd_watch_reply_of(std::string_view reply) {
  EtcdWatchReply found;
  ProtoReader reader(reply);
  while (const auto field = reader.next()) {
    found.created = found.created || (field->number == 3 && field->value != 0);
    found.cancelled = found.cancelled || (field->number == 4 && field->value != 0);
    if (field->number == 11) {
      const std::string_view kv = proto_bytes(field->bytes, 2);
      found.events.push_back({proto_bytes(kv, kKey), proto_number(kv, kModRevision)});
    }
  }
  return found;
}

// StatusResponse: version 2, leader 4.
EtcdStatusReply etcd_status_reply_of(std::string_view reply) {
  return {proto_number(proto_bytes(reply, kHeader), kHeaderMember),
          proto_number(reply, 4),
          std::string{proto_bytes(reply, 2)}};
}

}  // namespace gcoord::cli
