#include "cli/bundle/node_pages.h"

#include "cli/bundle/targets.h"
#include "common/http/client.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

// A node that has not answered by then does not.
constexpr milliseconds kAnswerTimeout{5000};

// A node samples for 30 s at most (server/debug/pages.cc).
constexpr milliseconds kBusyMax{31'000};

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

// One page. Those that sample take as long as they are told to.
struct Page {
  std::string_view file;
  std::string_view path;
  std::size_t bytes_max;
  bool samples = false;
  bool may_fail = false;  // 503 is an answer like 200: that of a node that is not well.
};

// The metrics before and after what takes its time, so that rates can be told.
constexpr std::array<Page, 9> kPages{{
    {.file = "build.json", .path = "/debug/build", .bytes_max = 64 * kKiB},
    {.file = "livez.json", .path = "/livez?verbose", .bytes_max = 256 * kKiB, .may_fail = true},
    {.file = "readyz.json", .path = "/readyz?verbose", .bytes_max = 256 * kKiB, .may_fail = true},
    {.file = "metrics-1.txt", .path = "/metrics", .bytes_max = 4 * kMiB},
    {.file = "config.toml", .path = "/debug/config", .bytes_max = 1 * kMiB},
    {.file = "log.txt", .path = "/debug/log", .bytes_max = 4 * kMiB},
    {.file = "threads.json", .path = "/debug/threads", .bytes_max = 2 * kMiB, .samples = true},
    {.file = "metrics-2.txt", .path = "/metrics", .bytes_max = 4 * kMiB},
    {.file = "cpu.pprof", .path = "/debug/profile", .bytes_max = 8 * kMiB, .samples = true},
}};

std::uint64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

std::string first_line(const std::string& text) {
  return text.substr(0, std::min<std::size_t>(text.find('\n'), 200));
}

// Why an answer is not what was wanted; empty when it is.
std::string refusal(const Page& page, const HttpResponse& answer) {
  const bool wanted = answer.status == 200 || (page.may_fail && answer.status == 503);
  if (wanted) {
    return answer.extent == HttpBody::Cut ? "the answer was cut" : "";
  }
  const std::string status = "HTTP " + std::to_string(answer.status);
  return answer.status == 404 ? status + ": its release has no such page"
                              : status + " " + first_line(answer.body);
}

// Why a page is not that of the node that was meant; empty when it is, or nobody can tell.
std::string stranger(const NodeIdentity& expected, const std::string& build_page) {
  const auto found = identity_of(build_page);
  if (!found.has_value() || expected.node == 0 || expected.cluster == 0 ||
      same_node({expected.cluster, expected.node}, *found)) {
    return "";
  }
  return "these are the pages of " + name_of(*found) + ", not of " + name_of(expected) +
         "; give --metrics";
}

class Reader {
 public:
  explicit Reader(const PageReading& reading)
      : reading_(reading),
        client_({.host = reading.address.host, .port = reading.address.port},
                {.connection = HttpConnection::Kept, .tls = reading.address.tls}) {}

  void read(const Page& page) {
    if (reading_.deadline->over()) {
      return leave_out(page, "the time is over (--timeout)");
    }
    const std::chrono::seconds sample = page.samples ? seconds() : std::chrono::seconds{0};
    const std::string path = reading_.address.prefix + path_of(page, sample);
    const std::uint64_t begun_ms = unix_ms();
    const auto begun = Deadline::Clock::now();
    auto answer = ask(page, path, sample);
    const auto took = Deadline::Clock::now() - begun;
    if (!answer.ok()) {
      silent_ = silent_.empty() && content_.files.empty() ? answer.status().message() : silent_;
      return leave_out(page, answer.status().message());
    }
    if (const std::string why = refusal(page, answer.value()); !why.empty()) {
      return leave_out(page, why, answer.value().status != 403);
    }
    if (&page == &kPages.front()) {
      silent_ = stranger(reading_.expected, answer.value().body);
      if (!silent_.empty()) {
        return leave_out(page, silent_);
      }
    }
    keep({.name = reading_.folder + "/" + std::string(page.file),
          .content = std::move(answer.value().body),
          .source =
              url_of({reading_.address.host, reading_.address.port, path, reading_.address.tls}),
          .begun_ms = begun_ms,
          .took_ms =
              static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(took).count()),
          .cut = answer.value().extent == HttpBody::TooLong},
         page);
  }

  void leave_out(const Page& page, const std::string& why, bool failed = true) {
    content_.gaps.push_back({.name = reading_.folder + "/" + std::string(page.file),
                             .node = reading_.node,
                             .why = why,
                             .failed = failed});
  }

  // Why nothing more is to be tried; empty while something may come.
  const std::string& silent() const { return silent_; }

  BundleContent take() { return std::move(content_); }

 private:
  // Again and again while the node samples for somebody else.
  Result<HttpResponse> ask(const Page& page, const std::string& path, std::chrono::seconds sample) {
    const Deadline busy{std::min(kBusyMax, reading_.deadline->left() / 2)};
    while (true) {
      auto answer =
          client_.get(path,
                      {.timeout = std::min(kAnswerTimeout + sample, reading_.deadline->left()),
                       .body_bytes_max = page.bytes_max});
      const bool sampling = page.samples && answer.ok() && answer.value().status == 503;
      if (!sampling || busy.over()) {
        return answer;
      }
      std::this_thread::sleep_for(std::min(reading_.busy_pause, busy.left()));
    }
  }

  // As long as is wanted, and short enough that all that takes its time fits.
  std::chrono::seconds seconds() const {
    const auto fits = std::chrono::floor<std::chrono::seconds>(reading_.deadline->left()) / 3;
    return std::clamp(fits, std::chrono::seconds{1}, reading_.sample);
  }

  static std::string path_of(const Page& page, std::chrono::seconds sample) {
    return std::string(page.path) +
           (page.samples ? "?seconds=" + std::to_string(sample.count()) : "");
  }

  void keep(BundleFile file, const Page& page) {
    if (reading_.budget->take(file.content.size())) {
      content_.files.push_back(std::move(file));
    } else {
      leave_out(page, "the bundle is as large as it may be");
    }
  }

  const PageReading& reading_;
  HttpClient client_;
  BundleContent content_;
  std::string silent_;
};

}  // namespace

bool ByteBudget::take(std::uint64_t bytes) {
  std::uint64_t left = left_.load();
  while (left >= bytes) {
    if (left_.compare_exchange_weak(left, left - bytes)) {
      return true;
    }
  }
  return false;
}

BundleContent read_pages(const PageReading& reading) {
  Reader reader(reading);
  for (const Page& page : kPages) {
    if (reader.silent().empty()) {
      reader.read(page);
    } else {
      reader.leave_out(page, "not tried: " + reader.silent());
    }
  }
  return reader.take();
}

std::vector<BundleGap> no_pages(const std::string& folder,
                                std::uint32_t node,
                                const std::string& why) {
  std::vector<BundleGap> gaps;
  for (const Page& page : kPages) {
    gaps.push_back({.name = folder + "/" + std::string(page.file), .node = node, .why = why});
  }
  return gaps;
}

std::optional<NodeIdentity> identity_at(const HttpAddress& address,
                                        std::chrono::milliseconds timeout) {
  HttpClient client({.host = address.host, .port = address.port}, {.tls = address.tls});
  const Page& page = kPages.front();
  const auto answer = client.get(address.prefix + std::string(page.path),
                                 {.timeout = timeout, .body_bytes_max = page.bytes_max});
  return answer.ok() && answer.value().status == 200 ? identity_of(answer.value().body)
                                                     : std::nullopt;
}

}  // namespace gcoord::cli
