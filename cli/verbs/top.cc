// gcoordctl top: nodes, leaders, rates and the names that change most, redrawn in place.
//
// What nodes say comes from their status, rates from two of these, names from a watch of all of
// them; a cluster with more changes than this program can take is shown in part, because a watch
// that does not keep up is stopped at its node. On what is no terminal one view follows the other
// as plain text.
#include "cli/verbs/top.h"

#include "cli/terminal/screen.h"
#include "cli/terminal/wake_sources.h"
#include "cli/verbs/hot_names.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNodesTimeout{1000};
constexpr std::size_t kNames = 10;

struct TopFlags {
  std::string interval = "2s";
  bool once = false;
};

// What a node said, or why it did not.
struct NodeReading {
  client::NodeView node;
  Json told;  // No object: it said nothing.
  double entries_per_s = 0;
};

std::uint64_t number_of(const Json& json, const char* group, const char* field) {
  const Json inner = json.is_object() ? json.value(group, Json::object()) : Json::object();
  const Json value = inner.value(field, Json{"0"});
  return value.is_string() ? std::strtoull(value.text().c_str(), nullptr, 10) : 0;
}

std::string text_of(const NodeReading& look, const char* field) {
  if (!look.told.is_object() || !look.told.contains(field)) {
    return "-";
  }
  const Json& value = look.told[field];
  return value.is_string() ? value.text() : value.dump();
}

std::string rate_text(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", rate);
  return text;
}

class Top {
 public:
  Top(Context& context, client::Client& client, milliseconds interval)
      : context_(context), client_(client), interval_(interval) {}

  // The watch that counts. Begins the first interval.
  client::Result<client::Watch> begin() {
    auto watch = client_.watch({.prefix = "", .waiters = true},
                               [this](const client::Result<client::WatchBatch>& batch) {
                                 if (batch.ok()) {
                                   heat_.count(batch.value());
                                 }
                               });
    look_at_nodes();
    return watch;
  }

  // One view of what was since the last, on the screen if there is one.
  void show(const Screen* screen) {
    const std::vector<NodeReading> nodes = look_at_nodes();
    const HotNames::Sample heat = heat_.take(kNames);
    if (screen == nullptr) {
      print_json(nodes, heat);
      std::cout.flush();
      return;
    }
    // A table is printed; here it is drawn.
    std::ostringstream text;
    std::streambuf* const stdout_was = std::cout.rdbuf(text.rdbuf());
    print_nodes(nodes, heat);
    std::cout << "\n";
    print_names(heat);
    std::cout.rdbuf(stdout_was);
    screen->show(text.str());
  }

 private:
  // Between the last two looks: a node that does not answer makes one longer than it was to be.
  double seconds() const { return seconds_; }

  double interval_seconds() const { return std::chrono::duration<double>(interval_).count(); }

  std::vector<NodeReading> look_at_nodes() {
    const auto now = std::chrono::steady_clock::now();
    seconds_ = std::max(std::chrono::duration<double>(now - looked_at_).count(), 0.001);
    looked_at_ = now;
    std::vector<NodeReading> looks;
    for (const client::NodeView& node : client_.cluster().nodes) {
      if (node.node_id == 0) {
        continue;  // An endpoint of no known node; status names it.
      }
      NodeReading look{.node = node, .told = {}};
      if (node.connected) {
        const auto status = client_.node_status(node.node_id);
        look.told = status.ok() ? parse_json(status.value()) : Json{};
      }
      const std::uint64_t entries = number_of(look.told, "ledger", "hashed");
      const std::uint64_t before = entries_[node.node_id];
      look.entries_per_s =
          entries > before ? static_cast<double>(entries - before) / seconds() : 0.0;
      entries_[node.node_id] = entries;
      looks.push_back(std::move(look));
    }
    return looks;
  }

  void print_nodes(const std::vector<NodeReading>& nodes, const HotNames::Sample& heat) const {
    Table table{
        {"NODE", "ENDPOINT", "LEADS", "LOCKS", "WAITERS", "SESSIONS", "CLIENTS", "ENTRIES/S"},
        {},
        {},
        {}};
    const auto answered =
        std::ranges::count_if(nodes, [](const NodeReading& look) { return look.told.is_object(); });
    table.caption = std::to_string(answered) + " of " + std::to_string(nodes.size()) +
                    " nodes answer; " + rate_text(static_cast<double>(heat.grants) / seconds()) +
                    " grants/s, " + rate_text(static_cast<double>(heat.expiries) / seconds()) +
                    " expiries/s; every " + rate_text(interval_seconds()) + " s, Ctrl-C ends it";
    for (const NodeReading& look : nodes) {
      table.rows.push_back({std::to_string(look.node.node_id),
                            look.node.address,
                            text_of(look, "leaders"),
                            text_of(look, "locks"),
                            text_of(look, "waiters"),
                            text_of(look, "sessions"),
                            text_of(look, "connections"),
                            look.told.is_object() ? rate_text(look.entries_per_s) : "-"});
      if (!look.told.is_object()) {
        table.notes.push_back("node " + std::to_string(look.node.node_id) + " does not answer" +
                              (look.node.last_error.empty() ? "" : ": " + look.node.last_error));
      }
    }
    context_.output().print({}, table);
  }

  void print_names(const HotNames::Sample& heat) const {
    Table table{{"GRANTS/S", "WAITS/S", "NAME"}, {}, {}, {}};
    if (heat.hottest.empty()) {
      table.notes.push_back("no name has changed since the last view");
    }
    for (const HotNames::Name& name : heat.hottest) {
      table.rows.push_back({rate_text(static_cast<double>(name.grants) / seconds()),
                            rate_text(static_cast<double>(name.waits) / seconds()),
                            name.name});
    }
    context_.output().print({}, table);
  }

  void print_json(const std::vector<NodeReading>& nodes, const HotNames::Sample& heat) const {
    Json json = {{"grants_per_s", static_cast<double>(heat.grants) / seconds()},
                 {"expiries_per_s", static_cast<double>(heat.expiries) / seconds()},
                 {"nodes", Json::array()},
                 {"hottest", Json::array()}};
    for (const NodeReading& look : nodes) {
      json["nodes"].push_back({{"node", look.node.node_id},
                               {"endpoint", look.node.address},
                               {"reachable", look.told.is_object()},
                               {"leaders", look.told.is_object() ? look.told["leaders"] : Json{}},
                               {"entries_per_s", look.entries_per_s}});
    }
    for (const HotNames::Name& name : heat.hottest) {
      json["hottest"].push_back({{"name", name.name},
                                 {"grants_per_s", static_cast<double>(name.grants) / seconds()},
                                 {"waits_per_s", static_cast<double>(name.waits) / seconds()}});
    }
    context_.output().print_facts(json);
  }

  Context& context_;
  client::Client& client_;
  milliseconds interval_;
  HotNames heat_;
  std::chrono::steady_clock::time_point looked_at_{};
  double seconds_ = 0;
  std::map<std::uint32_t, std::uint64_t> entries_;  // By node, at the last look.
};

int top(Context& context, const TopFlags& flags) {
  const auto interval = context.duration("--interval", flags.interval);
  if (!interval.has_value()) {
    return context.exit_code();
  }
  if (interval->count() < 100) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionInvalid, "--interval is 100ms or more"));
  }
  const SignalFd signals{SIGINT, SIGTERM, SIGHUP};
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto others = client->wait_for_all_nodes(std::min(context.timeout(), kNodesTimeout));
  static_cast<void>(others.ok());  // Who is missing is shown so.
  Top view(context, *client, *interval);
  const auto watch = view.begin();
  if (!watch.ok()) {
    return context.fail(*client, watch.status());
  }
  const bool json = context.output().format() == Format::JsonLines;
  std::optional<Screen> screen;
  if (!json) {
    screen.emplace(!flags.once);
    screen->wait("connected; the first view takes one interval");
  }
  while (!wait_readable({signals.fd()}, *interval)) {
    view.show(screen.has_value() ? &*screen : nullptr);
    if (flags.once) {
      return 0;
    }
  }
  return 0;
}

}  // namespace

void add_top_command(Command& app, Context& context) {
  auto flags = std::make_shared<TopFlags>();
  Command* verb = app.add_subcommand(
      "top", "show a live view of nodes, leaders, rates and the names that change most");
  verb->add_option("--interval", flags->interval, "time between two views (default 2s)")
      ->type_name("TIME");
  verb->add_flag("--once", flags->once, "show one view of one interval, then exit");
  verb->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return top(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
