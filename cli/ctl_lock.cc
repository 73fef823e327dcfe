// gcoordctl lock acquire | release | get | ls | check; break, move and run have files of their own.
#include "cli/command.h"
#include "cli/duration.h"
#include "cli/read_flags.h"
#include "common/utf8.h"
#include "rpc/error_codes.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <memory>

namespace gcoord::cli {

namespace {

struct LockOptions {
  std::string name;
  std::vector<std::string> names;  // Of acquire.
  std::string delay;
  std::string ttl = "10s";
  std::string wait;
  bool try_only = false;
  bool waiters = false;
  std::uint64_t token = 0;
  std::uint64_t session = 0;
  std::string note;
  std::uint32_t holds_max = 0;
  bool shared = false;
  bool downgrade = false;
  bool keep_waiting = false;
  std::uint32_t permits = 1;
  std::uint32_t permits_max = 0;
  std::string prefix;
  std::uint32_t limit = 1000;
  ReadFlags read;
};

Json lock_json(const client::LockDescription& lock) {
  Json waiters = Json::array();
  for (std::size_t place = 0; place < lock.waiters.size(); ++place) {
    const client::Waiter& waiter = lock.waiters[place];
    waiters.push_back({{"position", place + 1},
                       {"session", std::to_string(waiter.session_id)},
                       {"sequence", std::to_string(waiter.sequence)},
                       {"waited_ms", waiter.waited.count()}});
  }
  return {{"name", lock.name},
          {"shard", lock.shard},
          {"session", std::to_string(lock.holder_session)},
          {"token", std::to_string(lock.token)},
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

// The same, and what only one lock is asked for. A note that is no text is shown as hexadecimal.
Json details_json(const client::LockDescription& lock) {
  Json json = lock_json(lock);
  json["holds"] = lock.hold_count;
  json["delayed"] = lock.hold_count == 0;
  json["permits_max"] = lock.permits_max;
  json["holders"] = Json::array();
  for (const client::Holder& holder : lock.holders) {
    json["holders"].push_back({{"session", std::to_string(holder.session_id)},
                               {"token", std::to_string(holder.token)},
                               {"acquired_index", std::to_string(holder.acquired_index)},
                               {"permits", holder.permits}});
  }
  if (utf8_well_formed(lock.note)) {
    json["note"] = lock.note;
  } else {
    json["note_hex"] = hexadecimal(lock.note);
  }
  return json;
}

// A session of its own, or one that an earlier acquire left, which then goes on under numbers above
// all that it has used.
client::Result<client::Session> session_for(client::Client& client,
                                            const LockOptions& options,
                                            std::chrono::milliseconds ttl) {
  if (options.session == 0) {
    return client.open_session({ttl, {}});
  }
  client::AttachOptions attach;
  attach.session_id = options.session;
  attach.ttl = ttl;
  attach.keep_alive = true;
  attach.first_sequence =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  return client.attach_session(attach);
}

// A session that was there before stays, with all that it holds.
void leave_session(const LockOptions& options, client::Session& session) {
  if (options.session != 0) {
    session.detach();
  }
}

// How the options ask for it; nothing, and the error is printed, when one of them cannot be read.
std::optional<client::AcquireOptions> acquire_options(Context& context,
                                                      const LockOptions& options) {
  client::AcquireOptions how;
  how.note = options.note;
  how.holds_max = options.holds_max;
  how.shared = options.shared || options.downgrade || options.permits_max != 0;
  how.downgrade = options.downgrade;
  // Who waits in a session of before may hold something; a new one holds nothing.
  how.detect_deadlock = options.session != 0 && !options.keep_waiting;
  how.permits = options.permits;
  how.permits_max = options.permits_max;
  if (options.try_only) {
    how.wait = std::chrono::milliseconds(0);
  } else if (!options.wait.empty()) {
    const auto wait = context.duration("--wait", options.wait);
    if (!wait.has_value()) {
      return std::nullopt;
    }
    how.wait = *wait;
  }
  if (!options.delay.empty()) {
    const auto delay = context.duration("--lock-delay", options.delay);
    if (!delay.has_value()) {
      return std::nullopt;
    }
    how.delay = *delay;
  }
  return how;
}

// One lock's facts stand alone; those of several in a list, in the order in which they were asked
// for.
Json grants_json(const LockOptions& options,
                 const client::MultiLock& locks,
                 const client::Session& session,
                 std::chrono::milliseconds remaining) {
  Json json;
  Json list = Json::array();
  for (const std::string& name : options.names) {
    const auto lock = std::ranges::find(locks.locks(), name, &client::Lock::name);
    json = {{"name", name},
            {"token", std::to_string(lock->fence())},
            {"epoch", std::to_string(lock->epoch())},
            {"held_again", lock->held_again()}};
    list.push_back(json);
  }
  if (options.names.size() > 1) {
    json = {{"locks", list}};
  }
  json["session"] = std::to_string(session.id());
  json["ttl_ms"] = remaining.count();
  return json;
}

int acquire(Context& context, const LockOptions& options) {
  const auto ttl = context.duration("--ttl", options.ttl);
  const auto how = ttl.has_value() ? acquire_options(context, options) : std::nullopt;
  if (!how.has_value()) {
    return context.exit_code();
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  auto session = session_for(*client, options, *ttl);
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  auto locks = session.value().acquire_all(options.names, *how);
  if (!locks.ok()) {
    leave_session(options, session.value());
    return context.fail(*client, locks.status());
  }
  // Both stay: the lock lives with its session, and the session for its TTL, counted from now and
  // not from some keep-alive during the wait.
  const client::Status renewed = session.value().renew();
  if (!renewed.ok() && !session.value().alive()) {
    leave_session(options, session.value());
    return context.fail(*client, renewed);
  }
  // Without a majority to say so, only what is left of the last time is certain.
  const auto remaining = renewed.ok() ? session.value().ttl() : session.value().remaining();
  Json json = grants_json(options, locks.value(), session.value(), remaining);
  json["after"] = positions_text(client->positions());
  locks.value().detach();
  session.value().detach();
  context.output().print_facts(json);
  return 0;
}

int release(Context& context, const LockOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  client::AttachOptions attach;
  attach.session_id = options.session;
  auto session = client->attach_session(attach);
  if (!session.ok()) {
    return context.fail(*client, session.status());
  }
  const client::Status status = session.value().release(options.name, options.token);
  session.value().detach();
  if (!status.ok()) {
    return context.fail(*client, status);
  }
  context.output().print_facts(
      {{"name", options.name}, {"token", std::to_string(options.token)}, {"released", true}});
  return 0;
}

// A lock within the freshness that the flags ask for.
int read_lock(Context& context, client::Client& client, const LockOptions& options) {
  const auto how = read_options(context, options.read);
  if (!how.has_value()) {
    return static_cast<int>(rpc::ExitCode::Usage);
  }
  const auto reading = client.read(options.name, *how);
  if (!reading.ok()) {
    return context.fail(client, reading.status());
  }
  const bool held = reading.value().lock.has_value();
  Json json = held ? details_json(*reading.value().lock) : Json{{"name", options.name}};
  json["held"] = held;
  add_freshness(json, reading.value().at);
  context.output().print_facts(json);
  return static_cast<int>(held ? rpc::ExitCode::Ok : rpc::ExitCode::Negative);
}

int get(Context& context, const LockOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (!options.read.plain()) {
    return read_lock(context, *client, options);
  }
  const auto lock = client->get(options.name, options.waiters);
  if (!lock.ok()) {
    return context.fail(*client, lock.status());
  }
  context.output().print_facts(details_json(lock.value()));
  return 0;
}

// All pages, up to the limit. Nodes list in an order that means nothing, so the names are sorted.
struct Listed {
  std::vector<client::LockDescription> locks;
  bool cut = false;      // The limit came first.
  bool answered = true;  // By every node, for every shard.
};

client::Result<Listed> list_all(client::Client& client, const LockOptions& options) {
  Listed listed;
  client::ListOptions query{options.prefix, "", 0, options.waiters};
  query.quorum = options.read.consistency == "linearizable";
  do {
    query.limit = std::min<std::uint32_t>(
        500, options.limit - static_cast<std::uint32_t>(listed.locks.size()));
    auto page = client.list(query);
    if (!page.ok()) {
      return page.status();
    }
    std::ranges::move(page.value().locks, std::back_inserter(listed.locks));
    query.cursor = page.value().next_cursor;
    listed.answered = listed.answered && page.value().complete;
  } while (!query.cursor.empty() && listed.locks.size() < options.limit);
  listed.cut = !query.cursor.empty();
  std::ranges::sort(listed.locks, {}, &client::LockDescription::name);
  return listed;
}

// The holder, at position 0, and behind it everybody who waits.
void add_queue(const client::LockDescription& lock, Table& table) {
  table.rows.push_back(
      {lock.name, "0", std::to_string(lock.holder_session), "", std::to_string(lock.token)});
  for (std::size_t place = 0; place < lock.waiters.size(); ++place) {
    const client::Waiter& waiter = lock.waiters[place];
    table.rows.push_back({lock.name,
                          std::to_string(place + 1),
                          std::to_string(waiter.session_id),
                          std::to_string(waiter.waited.count()),
                          ""});
  }
}

// All pages of one node, within the freshness that the flags ask for.
client::Result<Listed> read_all(client::Client& client,
                                const LockOptions& options,
                                client::ReadOptions how) {
  Listed listed;
  client::ListOptions query{options.prefix, "", 0, false};
  do {
    query.limit = std::min<std::uint32_t>(
        500, options.limit - static_cast<std::uint32_t>(listed.locks.size()));
    auto page = client.read_list(query, how);
    if (!page.ok()) {
      return page.status();
    }
    how.node_id = page.value().node_id;
    std::ranges::move(page.value().page.locks, std::back_inserter(listed.locks));
    query.cursor = page.value().page.next_cursor;
  } while (!query.cursor.empty() && listed.locks.size() < options.limit);
  listed.cut = !query.cursor.empty();
  std::ranges::sort(listed.locks, {}, &client::LockDescription::name);
  return listed;
}

// Every node shows all locks if it may be a replica; where the leader must answer, all are asked.
client::Result<Listed> list_as_asked(client::Client& client,
                                     const LockOptions& options,
                                     const client::ReadOptions& how) {
  const bool by_leader = how.consistency == client::Consistency::Lease ||
                         how.consistency == client::Consistency::Linearizable;
  return by_leader ? list_all(client, options) : read_all(client, options, how);
}

int list(Context& context, const LockOptions& options) {
  const auto how = read_options(context, options.read);
  if (!how.has_value()) {
    return static_cast<int>(rpc::ExitCode::Usage);
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
  Table table{{"NAME", "TOKEN", "SESSION", "TTL_MS", "WAITERS", "SHARD"}, {}, ""};
  if (options.waiters) {
    table = {{"NAME", "POSITION", "SESSION", "WAITED_MS", "TOKEN"}, {}, ""};
  }
  for (const client::LockDescription& lock : listed.value().locks) {
    locks.push_back(lock_json(lock));
    if (options.waiters) {
      add_queue(lock, table);
      continue;
    }
    table.rows.push_back({lock.name,
                          std::to_string(lock.token),
                          std::to_string(lock.holder_session),
                          std::to_string(lock.ttl_left.count()),
                          std::to_string(lock.waiter_count),
                          std::to_string(lock.shard)});
  }
  if (!listed.value().answered) {
    std::cerr
        << "gcoordctl: locks may be missing: a node or the leader of a shard did not answer\n";
  }
  const bool complete = listed.value().answered && !listed.value().cut;
  context.output().print({{"locks", locks}, {"complete", complete}}, table);
  return 0;
}

int print_verdict(Context& context,
                  const LockOptions& options,
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
  return static_cast<int>(valid ? rpc::ExitCode::Ok : rpc::ExitCode::Negative);
}

int check(Context& context, const LockOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (!options.read.plain()) {
    const auto how = read_options(context, options.read);
    if (!how.has_value()) {
      return static_cast<int>(rpc::ExitCode::Usage);
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

void add_name(CLI::App& app, LockOptions& options) {
  app.add_option("NAME", options.name, "name of the lock")->required();
}

void add_token(CLI::App& app, LockOptions& options) {
  app.add_option("--token", options.token, "fencing token that the acquire printed")
      ->required()
      ->type_name("T");
}

void add_sharing(CLI::App& verb, LockOptions& options) {
  verb.add_flag("--shared", options.shared, "as a reader, together with other readers");
  verb.add_flag("--downgrade",
                options.downgrade,
                "with --session, which holds it alone: go on as a reader under the same token");
  CLI::Option* max = verb.add_option("--permits-max",
                                     options.permits_max,
                                     "as one of several who take up to N permits together")
                         ->check(CLI::Range(1u, 65'535u))
                         ->type_name("N");
  // Alone it would be ignored, and the lock be taken whole.
  verb.add_option("--permits", options.permits, "of --permits-max, how many (default 1)")
      ->needs(max)
      ->check(CLI::Range(1u, 255u))
      ->type_name("N");
}

}  // namespace

void add_lock_commands(CLI::App& app, Context& context) {
  auto options = std::make_shared<LockOptions>();
  CLI::App* lock = app.add_subcommand("lock", "acquire, release and look at locks");
  lock->require_subcommand(1);

  CLI::App* verb = add_verb(*lock,
                            context,
                            options,
                            "acquire",
                            "take locks that live for their TTL, all or none; wait unless told "
                            "otherwise",
                            acquire);
  verb->add_option("NAME", options->names, "name of the lock, or names of several")->required();
  verb->add_option("--ttl", options->ttl, "how long it lives (default 10s)")->type_name("TIME");
  CLI::Option* wait =
      verb->add_option("--wait", options->wait, "give up after this time")->type_name("TIME");
  verb->add_flag("--try", options->try_only, "do not wait")->excludes(wait);
  verb->add_option("--session", options->session, "in the session of an earlier acquire")
      ->type_name("S");
  verb->add_flag("--keep-waiting",
                 options->keep_waiting,
                 "with --session: also when sessions wait for each other in a circle, because what "
                 "it holds is released elsewhere meanwhile");
  verb->add_option("--holds",
                   options->holds_max,
                   "with --session: count one hold more of what it holds already, up to N")
      ->check(CLI::Range(1u, 65'535u))
      ->type_name("N");
  add_sharing(*verb, *options);
  verb->add_option("--lock-delay",
                   options->delay,
                   "nobody has it for so long after its holder failed (to 60s)")
      ->type_name("TIME");
  verb->add_option("--note", options->note, "left for others to read with lock get; to 512 bytes")
      ->type_name("TEXT");

  verb = add_verb(*lock, context, options, "release", "give a lock back", release);
  add_name(*verb, *options);
  add_token(*verb, *options);
  verb->add_option("--session", options->session, "session that the acquire printed")
      ->required()
      ->type_name("S");

  verb = add_verb(*lock, context, options, "get", "show who holds a lock", get);
  add_name(*verb, *options);
  verb->add_flag("--waiters", options->waiters, "name the waiters too");
  add_read_flags(*verb, options->read);

  verb = add_verb(*lock, context, options, "list", "list the locks that are held", list);
  verb->alias("ls");
  verb->add_option("PREFIX", options->prefix, "only names that begin so");
  verb->add_flag(
      "--waiters", options->waiters, "name the waiters too: position, session, how long they wait");
  verb->add_option("--limit", options->limit, "at most so many (default 1000)")
      ->check(CLI::Range(1u, 1'000'000u))
      ->type_name("N");
  add_read_flags(*verb, options->read);

  verb = add_verb(
      *lock, context, options, "check", "exit 0 if the token is valid, 1 if it is stale", check);
  add_name(*verb, *options);
  add_token(*verb, *options);
  add_read_flags(*verb, options->read);

  add_lock_break_command(*lock, context);
  add_lock_move_command(*lock, context);
  add_lock_run_command(*lock, context);
  add_lock_deadlocks_command(*lock, context);
}

}  // namespace gcoord::cli
