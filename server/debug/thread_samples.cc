#include "server/debug/thread_samples.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::size_t kThreadsMax = 1024;

// Positions behind the name, as proc(5) counts them from 3 on.
constexpr std::size_t kUserTicks = 14 - 3;
constexpr std::size_t kSystemTicks = 15 - 3;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{number} : std::nullopt;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

// Empty when it cannot be read.
std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::array<char, 4096> bytes{};
  stream.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(stream.gcount())};
}

// "run_ns queued_ns slices".
std::optional<std::uint64_t> queued_ns(const std::string& schedstat) {
  const std::vector<std::string> words = words_of(schedstat);
  return words.size() == 3 ? number_of(words[1]) : std::nullopt;
}

double seconds(std::uint64_t from, std::uint64_t to, double per_second) {
  return static_cast<double>(to - std::min(from, to)) / per_second;
}

Json counts_json(const std::map<std::string, std::uint32_t>& counts) {
  Json json = Json::object();
  for (const auto& [name, count] : counts) {
    json[name] = count;
  }
  return json;
}

}  // namespace

std::optional<TaskFacts> parse_task_stat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');  // The name may have both.
  if (open == text.npos || close == text.npos || close < open || open == 0) {
    return std::nullopt;
  }
  const auto id = number_of(text.substr(0, open - 1));
  const std::vector<std::string> words = words_of(text.substr(close + 1));
  if (!id.has_value() || words.size() <= kSystemTicks) {
    return std::nullopt;
  }
  const auto user = number_of(words[kUserTicks]);
  const auto system = number_of(words[kSystemTicks]);
  if (!user.has_value() || !system.has_value()) {
    return std::nullopt;
  }
  return TaskFacts{.id = *id,
                   .name = std::string(text.substr(open + 1, close - open - 1)),
                   .state = words[0][0],
                   .user_ticks = *user,
                   .system_ticks = *system};
}

std::vector<TaskFacts> read_tasks(const std::filesystem::path& proc) {
  std::vector<TaskFacts> tasks;
  std::error_code error;
  std::filesystem::directory_iterator entry(proc / "task", error);
  for (; !error && entry != std::filesystem::directory_iterator{} && tasks.size() < kThreadsMax;
       entry.increment(error)) {
    const std::filesystem::path& task = entry->path();
    if (auto facts = parse_task_stat(text_of(task / "stat")); facts.has_value()) {
      facts->queued_ns = queued_ns(text_of(task / "schedstat"));
      const std::string wait = text_of(task / "wchan");
      facts->wait = wait == "0" ? "" : wait;
      tasks.push_back(*std::move(facts));
    }
  }
  return tasks;
}

std::uint64_t ThreadSamples::Thread::ticks() const {
  const std::uint64_t before = first.user_ticks + first.system_ticks;
  const std::uint64_t after = last.user_ticks + last.system_ticks;
  return after - std::min(before, after);
}

void ThreadSamples::add(const std::vector<TaskFacts>& tasks) {
  ++looks_;
  for (const TaskFacts& task : tasks) {
    const auto found = threads_.try_emplace(task.id, Thread{.first = task}).first;
    Thread& thread = found->second;
    thread.last = task;
    ++thread.states[std::string(1, task.state)];
    if (!task.wait.empty()) {
      ++thread.waits[task.wait];
    }
  }
}

Json ThreadSamples::thread_json(const Thread& thread) const {
  const auto rate = static_cast<double>(ticks_per_second_);
  const TaskFacts& first = thread.first;
  const TaskFacts& last = thread.last;
  const bool queued = first.queued_ns.has_value() && last.queued_ns.has_value();
  return {
      {"id", last.id},
      {"name", last.name},
      {"user_seconds", seconds(first.user_ticks, last.user_ticks, rate)},
      {"system_seconds", seconds(first.system_ticks, last.system_ticks, rate)},
      {"queued_seconds", queued ? Json(seconds(*first.queued_ns, *last.queued_ns, 1e9)) : Json()},
      {"states", counts_json(thread.states)},
      {"waits", counts_json(thread.waits)}};
}

Json ThreadSamples::json() const {
  std::vector<const Thread*> threads;
  for (const auto& [id, thread] : threads_) {
    threads.push_back(&thread);
  }
  std::ranges::stable_sort(threads, std::ranges::greater{}, &Thread::ticks);
  Json list = Json::array();
  for (const Thread* thread : threads) {
    list.push_back(thread_json(*thread));
  }
  return {{"looks", looks_}, {"threads", list}};
}

}  // namespace gcoord::server
