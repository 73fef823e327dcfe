// gcoordctl lock get | list | check: what is known of locks, as fresh as the flags ask.
#include "cli/audit/origins.h"
#include "cli/terminal/command.h"
#include "cli/terminal/hidden.h"
#include "cli/terminal/lock_flags.h"
#include "cli/terminal/read_flags.h"
#include "common/utf8.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace gcoord::cli {

namespace {

struct QueryOptions {
  std::string name;
  std::uint64_t token = 0;
  bool waiters = false;
  bool details = false;
  std::string prefix;
  std::uint32_t limit = 1000;
  std::optional<std::uint64_t> at_index;
  ReadFlags read;
};

// Whether rights hide who holds the lock, or who waits for it where that was asked for.
bool hides(const client::LockDescription& lock, bool waiters) {
  return is_hidden(lock.holder_session) ||
         (waiters && lock.waiters.empty() && lock.waiter_count > 0);
}

void tell_hidden(const Context& context, bool hidden) {
  if (hidden && context.output().format() == Format::Tables) {
    talk(hidden_line("holders, their tokens and notes, and who waits are", kHolderRight));
  }
}

Json lock_json(const client::LockDescription& lock) {
  Json waiters = Json::array();
  for (std::size_t place = 0; place < lock.waiters.size(); ++place) {
    const client::Waiter& waiter = lock.waiters[place];
    waiters.push_back({{"position", place + 1},
                       {"session", session_value(waiter.session_id)},
                       {"sequence", std::to_string(waiter.sequence)},
                       {"waited_ms", waiter.waited.count()}});
  }
  return {{"name", lock.name},
          {"shard", lock.shard},
          {"session", session_value(lock.holder_session)},
          {"token", token_value(lock.holder_session, lock.token)},
          {"acquired_index", std::to_string(lock.acquired_index)},
          {"ttl_ms", lock.ttl_left.count()},
          {"waiter_count", lock.waiter_count},
          {"waiters", waiters}};
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

// Who holds a lock together, or the one who has it alone: nodes list only the former.
std::vector<client::Holder> holders_of(const client::LockDescription& lock) {
  const bool alone = lock.holders.empty() && lock.hold_count != 0 && lock.holder_session != 0;
  return alone ? std::vector<client::Holder>{{lock.holder_session,
                                              lock.token,
                                              lock.acquired_index,
                                              1}}
               : lock.holders;
}

// The same, and what only one lock is asked for. A note that is no text is shown as hexadecimal.
Json details_json(const client::LockDescription& lock) {
  Json json = lock_json(lock);
  json["holds"] = lock.hold_count;
  json["delayed"] = lock.hold_count == 0;
  json["permits_max"] = lock.permits_max;
  json["holders"] = Json::array();
  for (const client::Holder& holder : holders_of(lock)) {
    json["holders"].push_back({{"session", session_value(holder.session_id)},
                               {"token", token_value(holder.session_id, holder.token)},
                               {"acquired_index", std::to_string(holder.acquired_index)},
                               {"permits", holder.permits}});
  }
  if (is_hidden(lock.holder_session)) {
    json["note"] = nullptr;
  } else if (utf8_well_formed(lock.note)) {
    json["note"] = lock.note;
  } else {
    json["note_hex"] = hexadecimal(lock.note);
  }
  json["held"] = true;
  return json;
}

struct ShownLock {
  const client::LockDescription& lock;
  bool with_waiters = false;
};

// Prints it; for people with a word in the place of what is hidden.
void print_details(const Context& context, const ShownLock& shown, Json json) {
  const client::LockDescription& lock = shown.lock;
  const bool hidden = hides(lock, shown.with_waiters);
  if (context.output().format() != Format::Tables) {
    add_hidden(json, hidden, kHolderRight);
  } else if (hidden) {
    if (is_hidden(lock.holder_session)) {
      json["session"] = json["token"] = json["note"] = json["holders"] = "hidden";
    }
    if (lock.waiter_count > 0) {
      json["waiters"] = "hidden";
    }
  }
  context.output().print_facts(json);
  tell_hidden(context, hidden);
}

// Of a lock that is neither held nor waited for, however it was asked for.
Json absent_json(const std::string& name) {
  return {{"name", name}, {"held", false}};
}

int print_reading(Context& context,
                  const QueryOptions& options,
                  const client::LockReading& reading) {
  const bool held = reading.lock.has_value();
  Json json = held ? details_json(*reading.lock) : absent_json(options.name);
  add_freshness(json, reading.at);
  if (held) {
    print_details(context, {*reading.lock, options.waiters}, std::move(json));
  } else {
    context.output().print_facts(json);
  }
  return static_cast<int>(held ? protocol::ExitCode::Ok : protocol::ExitCode::Negative);
}

// A lock within the freshness that the flags ask for.
int read_lock(Context& context, client::Client& client, const QueryOptions& options) {
  const auto how = read_options(context, options.read);
  if (!how.has_value()) {
    return static_cast<int>(protocol::ExitCode::Usage);
  }
  const auto reading = client.read(options.name, *how);
  if (!reading.ok()) {
    return context.fail(client, reading.status());
  }
  return print_reading(context, options, reading.value());
}

// A lock as it was at an index of its shard's log.
int read_past(Context& context, client::Client& client, const QueryOptions& options) {
  const auto reading = client.read_at(options.name, *options.at_index, options.read.node);
  if (!reading.ok()) {
    return context.fail(client, reading.status());
  }
  return print_reading(context, options, reading.value());
}

int get(Context& context, const QueryOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (options.at_index.has_value()) {
    return read_past(context, *client, options);
  }
  if (!options.read.plain()) {
    return read_lock(context, *client, options);
  }
  const auto lock = client->get(options.name, options.waiters);
  if (lock.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::LockAbsent)) {
    context.output().print_facts(absent_json(options.name));
    return static_cast<int>(protocol::ExitCode::Negative);
  }
  if (!lock.ok()) {
    return context.fail(*client, lock.status());
  }
  Json json = details_json(lock.value());
  if (options.details) {
    const auto origins = origins_of_holders(*client, options.name);
    if (!origins.ok()) {
      return context.fail(*client, origins.status());
    }
    json["clients"] = Json::array();
    for (const auto& [session, origin] : origins.value()) {
      json["clients"].push_back(origin_json(origin));
    }
  }
  print_details(context, {lock.value(), options.waiters}, std::move(json));
  return 0;
}

// All pages, up to the limit. Nodes list in an order that means nothing, so the names are sorted.
struct Listed {
  std::vector<client::LockDescription> locks;
  ListGaps gaps;

  // One row more than the limit was asked for, so that it is known whether there are more.
  void cut_to(std::uint32_t limit) {
    gaps.cut = locks.size() > limit;
    locks.resize(std::min<std::size_t>(locks.size(), limit));
  }
};

client::Result<Listed> list_all(client::Client& client, const QueryOptions& options) {
  Listed listed{.locks = {}, .gaps = {.limit = options.limit}};
  client::ListOptions query{options.prefix, "", 0, options.waiters};
  query.quorum = options.read.consistency == "linearizable";
  do {
    query.limit = std::min<std::uint32_t>(
        500, options.limit + 1 - static_cast<std::uint32_t>(listed.locks.size()));
    auto page = client.list(query);
    if (!page.ok()) {
      return page.status();
    }
    std::ranges::move(page.value().locks, std::back_inserter(listed.locks));
    query.cursor = page.value().next_cursor;
    listed.gaps.answered = listed.gaps.answered && page.value().complete;
  } while (!query.cursor.empty() && listed.locks.size() <= options.limit);
  listed.cut_to(options.limit);
  std::ranges::sort(listed.locks, {}, &client::LockDescription::name);
  return listed;
}

// The holder, at position 0, and behind it everybody who waits.
void add_queue(const client::LockDescription& lock, Table& table) {
  table.rows.push_back({lock.name,
                        "0",
                        session_text(lock.holder_session),
                        "",
                        token_text(lock.holder_session, lock.token)});
  if (hides(lock, true) && lock.waiter_count > 0) {
    table.rows.push_back(
        {lock.name, "1-" + std::to_string(lock.waiter_count), "hidden", "hidden", ""});
  }
  for (std::size_t place = 0; place < lock.waiters.size(); ++place) {
    const client::Waiter& waiter = lock.waiters[place];
    table.rows.push_back({lock.name,
                          std::to_string(place + 1),
                          session_text(waiter.session_id),
                          std::to_string(waiter.waited.count()),
                          ""});
  }
}

// All pages of one node, within the freshness that the flags ask for.
client::Result<Listed> read_all(client::Client& client,
                                const QueryOptions& options,
                                client::ReadOptions how) {
  Listed listed{.locks = {}, .gaps = {.limit = options.limit}};
  client::ListOptions query{options.prefix, "", 0, false};
  do {
    query.limit = std::min<std::uint32_t>(
        500, options.limit + 1 - static_cast<std::uint32_t>(listed.locks.size()));
    auto page = client.read_list(query, how);
    if (!page.ok()) {
      return page.status();
    }
    how.node_id = page.value().node_id;
    std::ranges::move(page.value().page.locks, std::back_inserter(listed.locks));
    query.cursor = page.value().page.next_cursor;
  } while (!query.cursor.empty() && listed.locks.size() <= options.limit);
  listed.cut_to(options.limit);
  std::ranges::sort(listed.locks, {}, &client::LockDescription::name);
  return listed;
}

bool by_leaders(const client::ReadOptions& how) {
  return how.consistency == client::Consistency::Lease ||
         how.consistency == client::Consistency::Linearizable;
}

// Only leaders know who waits; and where they must answer, no one node can.
const char* why_no_list(const QueryOptions& options, const client::ReadOptions& how) {
  if (options.waiters && !by_leaders(how)) {
    return "--waiters goes with --consistency lease or linearizable";
  }
  if (how.node_id != 0 && by_leaders(how)) {
    return "--node goes with --consistency serializable, bounded or monotonic";
  }
  return nullptr;
}

// Every node shows all locks if it may be a replica; where the leader must answer, all are asked.
client::Result<Listed> list_as_asked(client::Client& client,
                                     const QueryOptions& options,
                                     const client::ReadOptions& how) {
  return by_leaders(how) ? list_all(client, options) : read_all(client, options, how);
}

int list(Context& context, const QueryOptions& options) {
  const auto how = read_options(context, options.read);
  if (!how.has_value()) {
    return static_cast<int>(protocol::ExitCode::Usage);
  }
  if (const char* why = why_no_list(options, *how); why != nullptr) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionInvalid, why));
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto listed = list_as_asked(*client, options, *how);
  if (!listed.ok()) {
    return context.fail(*client, listed.status());
  }
  Json locks = Json::array();
  bool hidden = false;
  Table table{{"NAME", "TOKEN", "SESSION", "TTL_MS", "WAITERS", "SHARD"}, {}, ""};
  if (options.waiters) {
    table = {{"NAME", "POSITION", "SESSION", "WAITED_MS", "TOKEN"}, {}, ""};
  }
  for (const client::LockDescription& lock : listed.value().locks) {
    const bool hides_some = hides(lock, options.waiters);
    locks.push_back(lock_json(lock));
    add_hidden(locks.back(), hides_some, kHolderRight);
    hidden = hidden || hides_some;
    if (options.waiters) {
      add_queue(lock, table);
      continue;
    }
    table.rows.push_back({lock.name,
                          token_text(lock.holder_session, lock.token),
                          session_text(lock.holder_session),
                          std::to_string(lock.ttl_left.count()),
                          std::to_string(lock.waiter_count),
                          std::to_string(lock.shard)});
  }
  context.output().print({{"locks", locks}, {"complete", listed.value().gaps.complete()}}, table);
  tell_gaps(listed.value().gaps);
  tell_hidden(context, hidden);
  return 0;
}

int print_verdict(Context& context,
                  const QueryOptions& options,
                  client::Verdict verdict,
                  const client::Freshness* at) {
  const bool valid = verdict == client::Verdict::Valid;
  const char* text = valid ? "VALID" : verdict == client::Verdict::Stale ? "STALE" : "FREE";
  Json json = {{"name", options.name},
               {"token", std::to_string(options.token)},
               {"verdict", text},
               {"valid", valid}};
  if (at != nullptr) {
    add_freshness(json, *at);
  }
  context.output().print_facts(json);
  return static_cast<int>(valid ? protocol::ExitCode::Ok : protocol::ExitCode::Negative);
}

int check(Context& context, const QueryOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (!options.read.plain()) {
    const auto how = read_options(context, options.read);
    if (!how.has_value()) {
      return static_cast<int>(protocol::ExitCode::Usage);
    }
    const auto reading = client->read_check(options.name, options.token, *how);
    return reading.ok()
               ? print_verdict(context, options, reading.value().verdict, &reading.value().at)
               : context.fail(*client, reading.status());
  }
  const auto verdict = client->check(options.name, options.token);
  return verdict.ok() ? print_verdict(context, options, verdict.value(), nullptr)
                      : context.fail(*client, verdict.status());
}

}  // namespace

void add_lock_look_commands(Command& lock, Context& context) {
  auto options = std::make_shared<QueryOptions>();
  Command* verb = add_verb(lock, context, options, "get", "show the holder of a lock", get);
  add_lock_name(*verb, options->name);
  Option* waiters = verb->add_flag(
      "--waiters", options->waiters, "show the waiters too, from the shard's leader");
  Option* clients = verb->add_flag("--details",
                                   options->details,
                                   "show who is behind its holders and waiters: principal, "
                                   "address, client name, since when");
  add_read_flags(*verb, options->read);
  Option* at_index = verb->add_option("--at-index",
                                      options->at_index,
                                      "show the lock as it was at this index of its shard's log, "
                                      "from the history that nodes keep")
                         ->type_name("N");
  at_index->excludes(waiters);
  at_index->excludes(clients);
  for (const char* other : {"--consistency", "--max-staleness", "--after"}) {
    at_index->excludes(verb->get_option(other));
    waiters->excludes(verb->get_option(other));
    clients->excludes(verb->get_option(other));
  }
  clients->excludes(verb->get_option("--node"));
  waiters->excludes(verb->get_option("--node"));

  verb = add_verb(lock, context, options, "list", "list held locks", list);
  verb->alias("ls");
  verb->add_option("PREFIX", options->prefix, "only names with this prefix")->names_locks();
  verb->add_flag(
      "--waiters", options->waiters, "show the waiters too: position, session, waiting time");
  verb->add_option("--limit", options->limit, "maximum number of rows (default 1000)")
      ->in_range(1, 1'000'000)
      ->type_name("N");
  add_read_flags(*verb, options->read);

  verb = add_verb(
      lock, context, options, "check", "exit 0 if the token is valid, 1 if it is stale", check);
  add_lock_name(*verb, options->name);
  add_lock_token(*verb, options->token);
  add_read_flags(*verb, options->read);
}

}  // namespace gcoord::cli
