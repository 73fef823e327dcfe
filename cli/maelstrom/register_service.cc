#include "cli/maelstrom/register_service.h"

#include "common/crc32c.h"
#include "server/interfaces/errors.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::cli {

namespace {

using nlohmann::json;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The state of a shard as it is kept and sent: an object of texts, its keys in order.
json parse_state(std::span<const std::byte> bytes) {
  const json state = json::parse(text_of(bytes), nullptr, false);
  const bool texts =
      state.is_object() &&
      std::all_of(state.begin(), state.end(), [](const json& value) { return value.is_string(); });
  return texts ? state : json(json::value_t::discarded);
}

json failed_json(const Status& status) {
  const bool may_have_happened = status.detail() == server::kLeadershipLost;
  return node_error(may_have_happened ? NodeError::Crash : NodeError::TemporarilyUnavailable,
                    status.message());
}

}  // namespace

json node_error(NodeError code, const std::string& text) {
  return {{"type", "error"}, {"code", static_cast<int>(code)}, {"text", text}};
}

json RegisterService::execute(Registers& registers, const json& command) {
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
  const json command = json::parse(text_of(entry.payload), nullptr, false);
  // A command that is none changes nothing, on every node alike.
  const json body = command.is_object() ? execute(shards_[entry.shard.value], command)
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
  json body;
  if (!status.ok()) {
    // A read changes nothing, so it certainly did not happen.
    body = node_error(NodeError::TemporarilyUnavailable, status.message());
  } else if (found == registers.end()) {
    body = node_error(NodeError::KeyDoesNotExist, "there is no such key");
  } else {
    body = {{"type", "read_ok"}, {"value", json::parse(found->second, nullptr, false)}};
  }
  reads_.erase(read);
  answer_(cookie, body);
}

void RegisterService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  if (shards_[shard.value].empty()) {
    return;
  }
  const std::string text = json(shards_[shard.value]).dump();
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), first, first + text.size());
}

Status RegisterService::install(ShardId shard, std::span<const std::byte> bytes) {
  Registers& registers = shards_[shard.value];
  registers.clear();
  if (bytes.empty()) {
    return Status{};
  }
  const json state = parse_state(bytes);
  if (state.is_discarded()) {
    return Status{StatusCode::DataLoss, "the state of a shard is not a register state"};
  }
  registers = state.get<Registers>();
  return Status{};
}

bool RegisterService::plausible(ShardId, std::span<const std::byte> bytes) const {
  return bytes.empty() || !parse_state(bytes).is_discarded();
}

std::uint64_t RegisterService::state_hash(ShardId shard) const {
  const std::string text = json(shards_[shard.value]).dump();
  return crc32c(std::as_bytes(std::span{text}));
}

void RegisterService::on_peer_message(NodeId from, std::span<const std::byte> message) {
  on_peer_(from, message);
}

}  // namespace gcoord::cli
