#include "cli/maelstrom/register_service.h"

#include "common/crc32c.h"
#include "common/json/text.h"
#include "server/interfaces/errors.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::cli {

namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The state of a shard as it is kept and sent: an object of texts, its keys in order; null when it
// is none.
Json parse_state(std::span<const std::byte> bytes) {
  Json state = parse_json(text_of(bytes));
  const bool texts =
      state.is_object() && std::ranges::all_of(state.items(), &Json::is_string, &JsonMember::value);
  return texts ? std::move(state) : Json{};
}

Json failed_json(const Status& status) {
  const bool may_have_happened = status.detail() == server::kLeadershipLost;
  return node_error(may_have_happened ? NodeError::Crash : NodeError::TemporarilyUnavailable,
                    status.message());
}

}  // namespace

Json node_error(NodeError code, const std::string& text) {
  return {{"type", "error"}, {"code", static_cast<int>(code)}, {"text", text}};
}

Json RegisterService::execute(Registers& registers, const Json& command) {
  const std::string key = command.value("key", std::string{});
  const std::string value = command.value("value", std::string{});
  const auto found = registers.find(key);
  if (command.value("op", std::string{}) == "write") {
    registers[key] = value;
    return {{"type", "write_ok"}};
  }
  if (found == registers.end() && !command.value("create", false)) {
    return node_error(NodeError::KeyDoesNotExist, "there is no such key");
  }
  if (found != registers.end() && found->second != command.value("from", std::string{})) {
    return node_error(NodeError::PreconditionFailed, "the value is " + found->second);
  }
  registers[key] = value;
  return {{"type", "cas_ok"}};
}

void RegisterService::apply(const server::AppliedEntry& entry) {
  if (entry.kind != consensus::EntryKind::Command) {
    return;
  }
  const Json command = parse_json(text_of(entry.payload));
  // A command that is none changes nothing, on every node alike.
  const Json body = command.is_object() ? execute(shards_[entry.shard.value], command)
                                        : node_error(NodeError::MalformedRequest, "no command");
  if (entry.cookie != 0) {
    answer_(entry.cookie, body);
  }
}

void RegisterService::on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId) {
  answer_(cookie, failed_json(status));
}

void RegisterService::on_read(std::uint64_t cookie, const Status& status, NodeId) {
  const auto read = reads_.find(cookie);
  if (read == reads_.end()) {
    return;
  }
  const auto& [shard, key] = read->second;
  const Registers& registers = shards_[shard.value];
  const auto found = registers.find(key);
  Json body;
  if (!status.ok()) {
    // A read changes nothing, so it certainly did not happen.
    body = node_error(NodeError::TemporarilyUnavailable, status.message());
  } else if (found == registers.end()) {
    body = node_error(NodeError::KeyDoesNotExist, "there is no such key");
  } else {
    body = {{"type", "read_ok"}, {"value", parse_json(found->second)}};
  }
  reads_.erase(read);
  answer_(cookie, body);
}

void RegisterService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  if (shards_[shard.value].empty()) {
    return;
  }
  const std::string text = text_of_state(shard);
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), first, first + text.size());
}

Status RegisterService::install(ShardId shard, std::span<const std::byte> bytes) {
  Registers& registers = shards_[shard.value];
  registers.clear();
  if (bytes.empty()) {
    return Status{};
  }
  const Json state = parse_state(bytes);
  if (state.is_null()) {
    return Status{StatusCode::DataLoss, "the state of a shard is not a register state"};
  }
  for (const JsonMember& each : state.items()) {
    registers[each.name] = each.value.text();
  }
  return Status{};
}

bool RegisterService::plausible(ShardId, std::span<const std::byte> bytes) const {
  return bytes.empty() || !parse_state(bytes).is_null();
}

std::string RegisterService::text_of_state(ShardId shard) const {
  Json state = Json::object();
  for (const auto& [key, value] : shards_[shard.value]) {
    state[key] = value;
  }
  return canonical_json(state);
}

std::uint64_t RegisterService::state_hash(ShardId shard) const {
  const std::string text = text_of_state(shard);
  return crc32c(std::as_bytes(std::span{text}));
}

void RegisterService::on_peer_message(NodeId from, std::span<const std::byte> message) {
  on_peer_(from, message);
}

}  // namespace gcoord::cli
