#include "cli/verbs/session_list.h"

#include "cli/audit/origins.h"
#include "cli/terminal/any_node.h"
#include "cli/terminal/hidden.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>

namespace gcoord::cli {

namespace {

using std::chrono::milliseconds;

struct ListFlags {
  bool clients = false;
  bool count = false;
  bool holding = false;
  bool idle = false;
  std::string below;
  std::uint32_t limit = 1000;
};

// Whether nodes leave out sessions of others: rights are checked, and the one that shows them is
// not granted. A node of an earlier release does not say.
bool hides_others(client::Client& client) {
  client::AccessQuery query;
  query.subject = client::AccessSubject::Self;
  query.node_id = any_node(client);
  const auto self = client.access(query);
  if (!self.ok() || !self.value().enabled) {
    return false;
  }
  const auto shows = [](const client::AccessGrant& grant) {
    return grant.prefix.empty() &&
           std::ranges::find(grant.rights, kSessionsRight) != grant.rights.end();
  };
  return std::ranges::none_of(self.value().roles, [&shows](const client::AccessRole& role) {
    return std::ranges::any_of(role.grants, shows);
  });
}

void tell_hidden(const Context& context, bool hidden) {
  if (hidden && context.output().format() == Format::Tables) {
    talk(hidden_line("sessions of other clients are", kSessionsRight));
  }
}

struct ListedSessions {
  std::vector<client::SessionDescription> sessions;
  std::uint64_t count = 0;
  ListGaps gaps;
};

client::Result<ListedSessions> list_all(client::Client& client,
                                        client::SessionListOptions query,
                                        std::uint32_t limit) {
  ListedSessions listed{.sessions = {}, .gaps = {.limit = limit}};
  do {
    if (!query.count_only) {
      query.limit = std::min<std::uint32_t>(
          10'000, limit + 1 - static_cast<std::uint32_t>(listed.sessions.size()));
    }
    auto page = client.list_sessions(query);
    if (!page.ok()) {
      return page.status();
    }
    listed.count += page.value().count;
    listed.gaps.answered = listed.gaps.answered && page.value().complete;
    std::ranges::move(page.value().sessions, std::back_inserter(listed.sessions));
    query.cursor = page.value().next_cursor;
  } while (!query.cursor.empty() && (query.count_only || listed.sessions.size() <= limit));
  // One more than the limit was asked for, so that it is known whether there are more.
  listed.gaps.cut = listed.sessions.size() > limit;
  if (listed.gaps.cut) {
    listed.count -= listed.sessions.size() - limit;
    listed.sessions.resize(limit);
  }
  std::ranges::sort(listed.sessions, {}, &client::SessionDescription::session_id);
  return listed;
}

std::vector<std::uint64_t> ids_of(const std::vector<client::SessionDescription>& sessions) {
  std::vector<std::uint64_t> ids;
  for (const client::SessionDescription& each : sessions) {
    ids.push_back(each.session_id);
  }
  return ids;
}

// A list, and who is behind its sessions where that is wanted.
struct ShownSessions {
  const std::vector<client::SessionDescription>& sessions;
  const OriginMap* origins = nullptr;  // None: not wanted.
};

void print_sessions(Context& context, const ShownSessions& shown, Json json) {
  json["sessions"] = Json::array();
  Table table{{"SESSION", "TTL_MS", "REMAINING_MS", "LOCKS", "SHARDS"}, {}, "", {}};
  if (shown.origins != nullptr) {
    table.columns.insert(table.columns.end(), kOriginColumns.begin(), kOriginColumns.end());
  }
  for (const client::SessionDescription& described : shown.sessions) {
    Json row = session_json(described);
    std::vector<std::string> cells{std::to_string(described.session_id),
                                   std::to_string(described.ttl.count()),
                                   std::to_string(described.remaining.count()),
                                   std::to_string(described.lock_count),
                                   std::to_string(described.shard_count)};
    if (shown.origins != nullptr) {
      const auto found = shown.origins->find(described.session_id);
      row["client"] = found == shown.origins->end() ? Json(nullptr) : origin_json(found->second);
      std::ranges::move(origin_cells(*shown.origins, described.session_id),
                        std::back_inserter(cells));
    }
    json["sessions"].push_back(row);
    table.rows.push_back(std::move(cells));
  }
  context.output().print(json, table);
}

int list(Context& context, const ListFlags& flags) {
  client::SessionListOptions query;
  query.count_only = flags.count;
  query.filter = flags.holding ? client::SessionFilter::Holding
                 : flags.idle  ? client::SessionFilter::Idle
                               : client::SessionFilter::All;
  if (!context.read_duration("--remaining-below", flags.below, query.remaining_below)) {
    return context.exit_code();
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  // Nodes that are down are left out, and the answer says so.
  static_cast<void>(client->wait_for_all_nodes(std::min(context.timeout(), milliseconds{1000})));
  const auto listed = list_all(*client, query, flags.limit);
  if (!listed.ok()) {
    return context.fail(*client, listed.status());
  }
  const ListGaps& gaps = listed.value().gaps;
  Json summary = {{"count", listed.value().count}, {"complete", gaps.complete()}};
  if (flags.count) {
    context.output().print_facts(summary);
    tell_gaps(gaps);
    return 0;
  }
  const bool hidden = hides_others(*client);
  add_hidden(summary, hidden, kSessionsRight);
  OriginMap origins;
  if (flags.clients) {
    auto read = origins_of(*client, ids_of(listed.value().sessions));
    if (!read.ok()) {
      return context.fail(*client, read.status());
    }
    origins = std::move(read).value();
  }
  print_sessions(context, {listed.value().sessions, flags.clients ? &origins : nullptr}, summary);
  tell_gaps(gaps);
  tell_hidden(context, hidden);
  return 0;
}

void add_list_flags(Command& app, ListFlags& flags) {
  Option* holding = app.add_flag("--holding", flags.holding, "only sessions that hold a lock");
  app.add_flag("--idle", flags.idle, "only sessions without a lock")->excludes(holding);
  app.add_option("--remaining-below", flags.below, "only sessions with less time left than this")
      ->type_name("TIME");
  app.add_flag("--count", flags.count, "show only the number of sessions");
  app.add_flag("--clients", flags.clients, "show who is behind each session");
  app.add_option("--limit", flags.limit, "maximum number of rows (default 1000)")
      ->in_range(1, 10'000'000)
      ->type_name("N");
}

}  // namespace

Json session_json(const client::SessionDescription& described) {
  return {{"session", std::to_string(described.session_id)},
          {"alive", described.alive},
          {"granted", described.granted},
          {"granted_ttl_ms", described.ttl.count()},
          {"remaining_ms", described.remaining.count()},
          {"shards", described.shard_count},
          {"locks", described.lock_count}};
}

void add_session_list(Command& group, Context& context) {
  auto flags = std::make_shared<ListFlags>();
  Command* verb = add_verb(group, context, flags, "list", "list live sessions", list);
  add_list_flags(*verb, *flags);
}

}  // namespace gcoord::cli
