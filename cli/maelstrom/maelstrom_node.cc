#include "cli/maelstrom/maelstrom_node.h"

#include "common/json/text.h"
#include "common/name_hash.h"
#include "netcore/transport/transport_simulated.h"
#include "server/interfaces/log_limits.h"
#include "server/platform/system_random.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace gcoord::cli {

namespace {

// Without delay of its own: all delay is outside.
constexpr netcore::SimulatedLinkOptions kAtOnce = {.delay_ticks_min = 0, .delay_ticks_max = 0};
constexpr std::uint64_t kCluster = 0x6d61656c7374726f;  // All of them are one cluster: "maelstro".
constexpr std::size_t kAskersMax = 1u << 16;
constexpr std::size_t kNodesMax = 7;
constexpr std::chrono::milliseconds kWithoutEngine{1000};

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    text.push_back(kHexDigits[static_cast<unsigned>(b) >> 4]);
    text.push_back(kHexDigits[static_cast<unsigned>(b) & 15]);
  }
  return text;
}

// Empty when it is not hexadecimal.
std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto high = kHexDigits.find(text[i]);
    const auto low = kHexDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return {};
    }
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return text.size() % 2 == 0 ? bytes : std::vector<std::byte>{};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text});
}

// What a client asked for, as the command that is logged; empty when it is none.
Json command_of(const Json& body) {
  const std::string type = body.value("type", std::string{});
  if (!body.contains("key") || (type != "read" && type != "write" && type != "cas")) {
    return {};
  }
  Json command = {{"op", type}, {"key", canonical_json(body["key"])}};
  if (type == "write") {
    command["value"] = canonical_json(body["value"]);
  } else if (type == "cas") {
    command["from"] = canonical_json(body["from"]);
    command["value"] = canonical_json(body["to"]);
    command["create"] = body.value("create_if_not_exists", false);
  }
  return canonical_json(command).size() <= server::kCommandBytesMax ? command : Json{};
}

}  // namespace

MaelstromNode::MaelstromNode(MaelstromNodeOptions options, Send send)
    : options_(std::move(options)), send_(std::move(send)), mailbox_(1, kAtOnce) {}

MaelstromNode::~MaelstromNode() = default;

void MaelstromNode::on_line(std::string_view line) {
  const Json message = parse_json(line);
  const Json& body = message["body"];
  if (!message["src"].is_string() || !body["type"].is_string()) {
    ++dropped_;
    return;
  }
  const std::string& src = message["src"].text();
  const std::string& type = body["type"].text();
  if (type == "init") {
    on_init(src, body);
  } else if (type == "gcoord") {
    on_bytes(src, body);
  } else if (type != "error" && !type.ends_with("_ok")) {
    on_request(src, body);
  }
}

void MaelstromNode::on_init(const std::string& src, const Json& body) {
  const Json& names = body["node_ids"];
  const std::string name = body.value("node_id", std::string{});
  const bool texts = std::ranges::all_of(names, &Json::is_string) && body["node_id"].is_string();
  const auto place = std::ranges::find_if(
      names, [&](const Json& each) { return each.is_string() && each.text() == name; });
  if (engine_ != nullptr || !texts || place == names.end() || names.size() > kNodesMax) {
    reply(src,
          body["msg_id"],
          node_error(NodeError::MalformedRequest, "init names this node among one to seven, once"));
    return;
  }
  for (const Json& each : names) {
    names_.push_back(each.text());
  }
  name_ = name;
  const auto number = static_cast<std::uint32_t>(place - names.begin()) + 1;
  failure_ = open_engine(number, static_cast<std::uint32_t>(names_.size()));
  if (failure_.ok()) {
    reply(src, body["msg_id"], {{"type", "init_ok"}});
  }
}

Status MaelstromNode::open_engine(std::uint32_t own_number, std::uint32_t node_count) {
  number_ = NodeId{own_number};
  service_ = std::make_unique<RegisterService>(
      options_.shards,
      [this](std::uint64_t cookie, const Json& body) { answer(cookie, body); },
      [this](NodeId from, std::span<const std::byte> message) { on_peer(from, message); });
  server::ReplicaOptions engine;
  engine.cluster = ClusterId{kCluster};
  engine.node = number_;
  engine.shard_count = options_.shards;
  for (std::uint32_t other = 1; other <= node_count; ++other) {
    if (other != own_number) {
      // The simulated transport knows a node by its number as the port.
      engine.peers.push_back({NodeId{other}, names_[other - 1], static_cast<std::uint16_t>(other)});
    }
  }
  const auto life = static_cast<std::uint32_t>(server::draw_random());
  engine.transport = netcore::make_simulated_transport(mailbox_, number_, life);
  engine.data_directory = options_.directory.string();
  GCOORD_TRY(engine_, server::HostReplicas::open(std::move(engine), *service_, metrics_));
  return Status{};
}

ShardId MaelstromNode::shard_of_key(const std::string& key) const {
  return shard_of(hash_name(key), options_.shards);
}

void MaelstromNode::on_request(const std::string& src, const Json& body) {
  const Json& msg_id = body["msg_id"];
  const Json command = command_of(body);
  if (engine_ == nullptr || command.empty()) {
    const bool known = engine_ == nullptr || body.contains("key");
    reply(src,
          msg_id,
          known ? node_error(NodeError::MalformedRequest,
                             "no request, a request before init, or one that is too long")
                : node_error(NodeError::NotSupported, "only init, read, write and cas are known"));
    return;
  }
  const NodeId leader = engine_->view(shard_of_key(command["key"].text())).leader;
  if (leader == NodeId{0} || askers_.size() >= kAskersMax) {
    reply(src, msg_id, node_error(NodeError::TemporarilyUnavailable, "no leader is known"));
    return;
  }
  const std::uint64_t cookie = ++next_cookie_;
  askers_[cookie] = {.client = src, .msg_id = msg_id, .node = NodeId{0}};
  if (leader == number_) {
    execute(cookie, command);
  } else {
    pass_on(leader, cookie, command);
  }
}

// A loss on the way leaves the client without an answer: it must take the outcome for unknown.
void MaelstromNode::pass_on(NodeId leader, std::uint64_t cookie, const Json& command) {
  const std::string text = canonical_json({{"cookie", cookie}, {"command", command}});
  if (!engine_->send_peer_message(leader, bytes_of(text))) {
    answer(cookie, node_error(NodeError::TemporarilyUnavailable, "the leader cannot be reached"));
  }
}

void MaelstromNode::execute(std::uint64_t cookie, const Json& command) {
  const std::string& key = command["key"].text();
  const ShardId shard = shard_of_key(key);
  if (command["op"].text() == "read") {
    service_->note_read(cookie, shard, key);
    engine_->read(shard, cookie);
    return;
  }
  const std::string text = canonical_json(command);
  engine_->propose(shard, bytes_of(text), cookie);
}

// From the service of another node: a request that its client made there, or the answer to one.
void MaelstromNode::on_peer(NodeId from, std::span<const std::byte> message) {
  const Json told =
      parse_json(std::string_view{reinterpret_cast<const char*>(message.data()), message.size()});
  const std::optional<std::uint64_t> cookie = unsigned_of(told["cookie"]);
  if (!cookie) {
    ++dropped_;
    return;
  }
  if (told.contains("answer")) {
    answer(*cookie, told["answer"]);
    return;
  }
  const Json& command = told["command"];
  if (!command["op"].is_string() || !command["key"].is_string() || askers_.size() >= kAskersMax) {
    ++dropped_;
    return;
  }
  const std::uint64_t own = ++next_cookie_;
  askers_[own] = {.node = from, .node_cookie = *cookie};
  execute(own, command);
}

void MaelstromNode::answer(std::uint64_t cookie, const Json& body) {
  const auto asker = askers_.find(cookie);
  if (asker == askers_.end()) {
    return;
  }
  const Asker asked = std::move(asker->second);
  askers_.erase(asker);
  if (asked.client.empty()) {
    const std::string text = canonical_json({{"cookie", asked.node_cookie}, {"answer", body}});
    engine_->send_peer_message(asked.node, bytes_of(text));
  } else {
    reply(asked.client, asked.msg_id, body);
  }
}

void MaelstromNode::reply(const std::string& dest, const Json& msg_id, Json body) {
  body["in_reply_to"] = msg_id;
  send_({{"src", name_}, {"dest", dest}, {"body", std::move(body)}});
}

void MaelstromNode::on_bytes(const std::string& src, const Json& body) {
  const auto from = std::find(names_.begin(), names_.end(), src);
  const std::vector<std::byte> bytes = from_hex(body.value("bytes", std::string{}));
  // Shorter than a link's header it can be nothing that a node sent.
  if (from == names_.end() || bytes.size() < netcore::kSlotBytes) {
    ++dropped_;
    return;
  }
  mailbox_.send(NodeId{static_cast<std::uint32_t>(from - names_.begin()) + 1}, number_, bytes);
}

void MaelstromNode::send_bytes() {
  for (std::uint32_t other = 1; other <= names_.size(); ++other) {
    if (NodeId{other} == number_) {
      continue;
    }
    mailbox_.take_due(NodeId{other}, [&](NodeId, NodeId, std::span<const std::byte> bytes) {
      send_({{"src", name_},
             {"dest", names_[other - 1]},
             {"body", {{"type", "gcoord"}, {"bytes", to_hex(bytes)}}}});
    });
  }
}

void MaelstromNode::run_turns() {
  if (engine_ == nullptr) {
    return;
  }
  while (engine_->turn() > 0 || !engine_->arm()) {
    send_bytes();
    if (!engine_->failure().ok()) {
      failure_ = engine_->failure();
      return;
    }
  }
  send_bytes();
}

std::vector<int> MaelstromNode::event_fds() const {
  return engine_ == nullptr ? std::vector<int>{} : engine_->event_fds();
}

std::chrono::milliseconds MaelstromNode::until_next_deadline() const {
  return engine_ == nullptr ? kWithoutEngine : engine_->until_next_deadline();
}

Status MaelstromNode::failure() const {
  return failure_;
}

}  // namespace gcoord::cli
