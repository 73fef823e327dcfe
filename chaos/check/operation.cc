#include "chaos/check/operation.h"

#include "common/json/members.h"
#include "common/json/text.h"

#include <array>
#include <chrono>
#include <span>

namespace gcoord::chaos {

namespace {

// In the order of the enumerations.
constexpr std::array<std::string_view, 11> kOps = {"acquire",
                                                   "release",
                                                   "check",
                                                   "abandon",
                                                   "session_lost",
                                                   "close",
                                                   "renew",
                                                   "read",
                                                   "write",
                                                   "cas",
                                                   "add"};
constexpr std::array<std::string_view, 3> kOutcomes = {"ok", "fail", "unknown"};
constexpr std::array<std::string_view, 5> kReasons = {"", "busy", "not_held", "stale", "mismatch"};
constexpr std::array<std::string_view, 3> kTokenStates = {"", "valid", "past"};
constexpr std::array<std::string_view, 4> kKinds = {"", "lock", "try", "wait"};

template <typename Enum>
std::string_view name_of(std::span<const std::string_view> names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

void read_arguments(JsonMembers& args, Operation& operation) {
  operation.session = args.number<std::uint64_t>("session");
  operation.sequence = args.number<std::uint64_t>("sequence");
  operation.shard = args.number<std::uint32_t>("shard");
  operation.ttl_ms = args.number<std::uint64_t>("ttl_ms");
  operation.delta = args.number<std::int64_t>("delta");
  operation.already_held = args.flag("already_held");
  operation.kind = args.choice<AcquireKind>("kind", kKinds);
  operation.reason = args.choice<Reason>("reason", kReasons);
  operation.verdict = args.choice<TokenState>("verdict", kTokenStates);
  operation.expected = args.choice<TokenState>("expected", kTokenStates);
  operation.value = args.text("value");
  operation.from = args.text("from");
}

void read_members(JsonMembers& members, Operation& operation) {
  for (const char* name : {"op", "outcome", "call"}) {
    members.require(name);
  }
  operation.process = members.number<std::uint32_t>("process");
  operation.op = members.choice<Op>("op", kOps);
  operation.outcome = members.choice<Outcome>("outcome", kOutcomes);
  operation.key = members.text("key");
  operation.token = members.number<std::uint64_t>("token");
  operation.call_ns = members.number<std::uint64_t>("call");
  operation.return_ns = members.number<std::uint64_t>("return");
}

Status not_an_operation(const std::string& what) {
  return Status{StatusCode::InvalidArgument, "not a line of a history: " + what};
}

// Builds the text of one object by hand: a client writes tens of thousands of these each second,
// beside its load.
class Line {
 public:
  void text(std::string_view name, std::string_view value) {
    begin(name);
    const bool plain = value.find_first_of("\"\\") == std::string_view::npos &&
                       value.find_first_of(kControl) == std::string_view::npos;
    if (plain) {
      text_.append("\"").append(value).append("\"");
    } else {
      text_ += Json(value).dump();
    }
  }

  template <typename Number>
  void number(std::string_view name, Number value) {
    text(name, std::to_string(value));
  }

  void raw(std::string_view name, std::string_view json_text) {
    begin(name);
    text_ += json_text;
  }

  // Left out when it is empty.
  void word(std::string_view name, std::string_view value) {
    if (!value.empty()) {
      text(name, value);
    }
  }

  std::string end() { return text_ + "}"; }

 private:
  static constexpr std::string_view kControl{
      "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37",
      32};

  void begin(std::string_view name) {
    text_.append(text_.size() > 1 ? ",\"" : "\"").append(name).append("\":");
  }

  std::string text_ = "{";
};

std::string arguments_of(const Operation& operation) {
  Line args;
  args.number("session", operation.session);
  if (operation.sequence != 0) {
    args.number("sequence", operation.sequence);
    args.number("shard", operation.shard);
  }
  if (operation.ttl_ms != 0) {
    args.number("ttl_ms", operation.ttl_ms);
  }
  if (operation.op == Op::Add) {
    args.number("delta", operation.delta);
  }
  args.word("value", operation.value);
  args.word("from", operation.from);
  args.word("kind", name_of(kKinds, operation.kind));
  args.word("reason", name_of(kReasons, operation.reason));
  args.word("verdict", name_of(kTokenStates, operation.verdict));
  args.word("expected", name_of(kTokenStates, operation.expected));
  if (operation.already_held) {
    args.raw("already_held", "true");
  }
  return args.end();
}

}  // namespace

std::string_view op_name(Op op) {
  return name_of(kOps, op);
}

std::string_view reason_name(Reason reason) {
  return name_of(kReasons, reason);
}

std::string_view verdict_name(TokenState verdict) {
  return name_of(kTokenStates, verdict);
}

std::string to_json_line(const Operation& operation) {
  Line line;
  line.raw("process", std::to_string(operation.process));
  line.text("op", name_of(kOps, operation.op));
  line.text("key", operation.key);
  line.raw("args", arguments_of(operation));
  line.number("call", operation.call_ns);
  line.number("return", operation.return_ns);
  line.text("outcome", name_of(kOutcomes, operation.outcome));
  line.number("token", operation.token);
  return line.end();
}

Result<Operation> parse_operation(std::string_view line) {
  const Json object = parse_json(line);
  if (!object.is_object()) {
    return not_an_operation("no JSON object");
  }
  const Json* args = object.find("args");
  if (args == nullptr || !args->is_object()) {
    return not_an_operation("args");
  }
  Operation operation;
  JsonMembers members(object);
  read_members(members, operation);
  JsonMembers arguments(*args);
  read_arguments(arguments, operation);
  if (!members.first_wrong().empty() || !arguments.first_wrong().empty()) {
    return not_an_operation(members.first_wrong().empty() ? "args." + arguments.first_wrong()
                                                          : members.first_wrong());
  }
  if (operation.outcome != Outcome::Unknown && operation.return_ns < operation.call_ns) {
    return not_an_operation("it returned before it was called");
  }
  return operation;
}

std::uint64_t history_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace gcoord::chaos
