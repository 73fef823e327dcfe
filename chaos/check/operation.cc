#include "chaos/demo/history.h"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <fstream>
#include <string_view>

namespace gcoord::chaos {

namespace {

using nlohmann::json;

// In the order of the enumerations.
constexpr std::array<std::string_view, 5> kOps = {
    "acquire", "release", "check", "abandon", "session_lost"};
constexpr std::array<std::string_view, 3> kOutcomes = {"ok", "fail", "unknown"};
constexpr std::array<std::string_view, 3> kTokenStates = {"", "valid", "past"};
constexpr std::array<std::string_view, 4> kKinds = {"", "lock", "try", "wait"};

template <typename Enum, std::size_t count>
std::string_view name_of(const std::array<std::string_view, count>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

template <typename Enum, std::size_t count>
bool read_name(const std::array<std::string_view, count>& names, std::string_view text, Enum& out) {
  for (std::size_t index = 0; index < count; ++index) {
    if (names[index] == text) {
      out = static_cast<Enum>(index);
      return true;
    }
  }
  return false;
}

void add_text(std::string& line, std::string_view name, std::string_view value) {
  line.append("\"").append(name).append("\":\"").append(value).append("\"");
}

void add_number(std::string& line, std::string_view name, std::uint64_t value) {
  add_text(line, name, std::to_string(value));
}

std::string text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::uint64_t number_in(const json& object, const char* name) {
  return std::strtoull(text_in(object, name).c_str(), nullptr, 10);
}

}  // namespace

// Written by hand: a client writes tens of thousands of these each second, beside its load. Keys
// are the demo's own and need no escapes.
std::string to_json_line(const Operation& operation) {
  std::string line = "{\"process\":" + std::to_string(operation.process) + ",";
  add_text(line, "op", name_of(kOps, operation.op));
  line += ",";
  add_text(line, "key", operation.key);
  line += ",\"args\":{";
  add_number(line, "session", operation.session);
  if (operation.kind != AcquireKind::None) {
    line += ",";
    add_text(line, "kind", name_of(kKinds, operation.kind));
  }
  if (operation.op == Op::Check) {
    line += ",";
    add_text(line, "verdict", name_of(kTokenStates, operation.verdict));
    line += ",";
    add_text(line, "expected", name_of(kTokenStates, operation.expected));
  }
  if (operation.already_held) {
    line += ",\"already_held\":true";
  }
  line += "},";
  add_number(line, "call", operation.call_ns);
  line += ",";
  add_number(line, "return", operation.return_ns);
  line += ",";
  add_text(line, "outcome", name_of(kOutcomes, operation.outcome));
  line += ",";
  add_number(line, "token", operation.token);
  line += "}";
  return line;
}

Result<Operation> parse_operation(const std::string& line) {
  const json object = json::parse(line, nullptr, false);
  Operation operation;
  bool sane = object.is_object() && object.contains("args") && object["args"].is_object();
  if (sane) {
    const json& args = object["args"];
    operation.process = object.value("process", 0u);
    operation.key = text_in(object, "key");
    operation.session = number_in(args, "session");
    operation.token = number_in(object, "token");
    operation.call_ns = number_in(object, "call");
    operation.return_ns = number_in(object, "return");
    operation.already_held = args.value("already_held", false);
    sane = read_name(kOps, text_in(object, "op"), operation.op) &&
           read_name(kOutcomes, text_in(object, "outcome"), operation.outcome) &&
           read_name(kKinds, text_in(args, "kind"), operation.kind) &&
           read_name(kTokenStates, text_in(args, "verdict"), operation.verdict) &&
           read_name(kTokenStates, text_in(args, "expected"), operation.expected);
  }
  if (!sane) {
    return Status{StatusCode::InvalidArgument, "not a line of a history: " + line};
  }
  return operation;
}

Result<std::unique_ptr<HistoryWriter>> HistoryWriter::open(const std::filesystem::path& file) {
  std::FILE* opened = std::fopen(file.c_str(), "we");
  if (opened == nullptr) {
    return Status{StatusCode::Unavailable, "cannot write " + file.string()};
  }
  return std::unique_ptr<HistoryWriter>{new HistoryWriter{opened}};
}

bool HistoryWriter::close() {
  const std::lock_guard lock{mutex_};
  if (file_ != nullptr) {
    failed_ |= std::fclose(file_) != 0;
    file_ = nullptr;
  }
  return !failed_;
}

HistoryWriter::~HistoryWriter() {
  close();
}

void HistoryWriter::write(const Operation& operation) {
  const std::string line = to_json_line(operation) + "\n";
  const std::lock_guard lock{mutex_};
  failed_ |= file_ == nullptr || std::fwrite(line.data(), 1, line.size(), file_) != line.size();
}

Status read_history(const std::filesystem::path& file, std::vector<Operation>& operations) {
  std::ifstream in{file};
  if (!in) {
    return Status{StatusCode::NotFound, "no history in " + file.string()};
  }
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) {
      break;  // No newline: cut short.
    }
    GCOORD_TRY(Operation operation, parse_operation(line));
    operations.push_back(std::move(operation));
  }
  return Status{};
}

std::uint64_t history_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace gcoord::chaos
