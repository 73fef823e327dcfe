#include "cli/terminal/hidden.h"
#include "cli/top/figures.h"
#include "cli/top/tables.h"
#include "cli/top/view.h"
#include "common/text/printable.h"
#include "common/text/utc_text.h"

#include <algorithm>

namespace gcoord::cli::top {

namespace {

// All lines of a page are made anew with each key.
constexpr std::size_t kWaitersShown = 1'000;

std::string session_of(std::uint64_t session) {
  return is_hidden(session) ? "session hidden" : "session " + std::to_string(session);
}

// Collects the lines of a page; each can be selected, so that a long page scrolls.
class Rows {
 public:
  void heading(const std::string& text) { rows_.push_back({{"  " + text, Style::Heading}, {}}); }

  void line(const std::string& text, Style style = Style::Plain) {
    rows_.push_back({{text, style}, Target{.kind = Target::Kind::Line, .line = rows_.size()}});
  }

  std::vector<BodyRow> take() { return std::move(rows_); }

 private:
  std::vector<BodyRow> rows_;
};

// "session 7 (user bob, 192.0.2.7, build)", as far as it is known.
std::string session_of(std::uint64_t session, const LockReading& reading) {
  const auto found =
      std::ranges::find(reading.origins, session, &client::SessionOrigin::session_id);
  if (found == reading.origins.end()) {
    return session_of(session);
  }
  const std::string who = found->principal.empty()
                              ? found->principal_kind
                              : found->principal_kind + " " + shown(found->principal);
  return session_of(session) + " (" + who + ", " + found->address + ", " + shown(found->client) +
         ", since " + utc_text(found->since_ms) + ")";
}

void add_holder(const LockReading& reading, Rows& rows) {
  const client::LockDescription& lock = *reading.lock;
  if (lock.holder_session == 0 && lock.holders.empty()) {
    return rows.line("nobody");
  }
  if (is_hidden(lock.holder_session)) {
    return rows.line(hidden_line("who holds it and who waits are", kHolderRight), Style::Faint);
  }
  if (lock.holders.empty()) {
    return rows.line(session_of(lock.holder_session, reading) + "  token " +
                     std::to_string(lock.token) + "  " + std::to_string(lock.ttl_left.count()) +
                     " ms left  since entry " + std::to_string(lock.acquired_index));
  }
  for (const client::Holder& each : lock.holders) {
    rows.line(session_of(each.session_id, reading) + "  token " + std::to_string(each.token) +
              "  " + std::to_string(each.permits) + " permits  since entry " +
              std::to_string(each.acquired_index));
  }
}

void add_lock(const LockReading& reading, const Model& model, Rows& rows) {
  const client::LockDescription& lock = *reading.lock;
  rows.heading("HELD BY");
  add_holder(reading, rows);
  const std::uint32_t leader = model.leader_of(lock.shard);
  rows.line("shard " + std::to_string(lock.shard) +
                (leader == 0 ? "" : ", led by node " + std::to_string(leader)),
            Style::Faint);
  if (lock.permits_max > 0) {
    rows.line("semaphore of " + std::to_string(lock.permits_max) + " permits");
  }
  if (!lock.note.empty()) {
    rows.line("note: " + shown(lock.note));
  }
  rows.heading("WAITED FOR BY " + std::to_string(lock.waiter_count));
  std::size_t position = 0;
  for (const client::Waiter& each : lock.waiters) {
    if (position == kWaitersShown) {
      return rows.line("and " + std::to_string(lock.waiters.size() - position) + " more",
                       Style::Faint);
    }
    rows.line(padded(std::to_string(++position), 3, Side::Right) + "  " +
              session_of(each.session_id, reading) + "  for " +
              age_text(static_cast<std::uint64_t>(std::max<std::int64_t>(each.waited.count(), 0))));
  }
}

void add_changes(const Model& model, Rows& rows) {
  rows.heading("CHANGES");
  if (model.changes().empty()) {
    rows.line("none since top began to watch", Style::Faint);
  }
  for (const Change& each : model.changes()) {
    const std::uint64_t ago_ms = model.at_ms() - std::min(model.at_ms(), each.at_ms);
    rows.line(padded(age_text(ago_ms) + " ago", 10, Side::Right) + "  " +
              padded(client::event_name(each.kind), 13, Side::Left) + "  " +
              session_of(each.session_id) +
              (each.token == 0 ? "" : "  token " + std::to_string(each.token)) + "  entry " +
              std::to_string(each.shard) + ":" + std::to_string(each.revision));
  }
}

}  // namespace

PageText name_text(const Model& model, const Navigation& navigation, const Frame& frame) {
  PageText page;
  const std::string& name = navigation.here().name;
  page.head.push_back({"lock " + shown(name), Style::Title});
  if (const NameRow* row = model.name(name)) {
    page.head.push_back(
        {number_line({"grants/s", Unit::PerSecond, row->grants}, frame.columns, frame.ascii)});
    page.head.push_back(
        {number_line({"waits/s", Unit::PerSecond, row->waits}, frame.columns, frame.ascii)});
  }
  Rows rows;
  const LockReading& lock = model.lock();
  if (lock.name != name) {
    rows.line("asking who holds it", Style::Faint);
  } else if (!lock.error.empty()) {
    rows.line("not known: " + shown(lock.error), Style::Alarm);
  } else if (!lock.lock.has_value()) {
    rows.line("nobody holds it and nobody waits for it");
  } else {
    add_lock(lock, model, rows);
  }
  add_changes(model, rows);
  page.body = rows.take();
  return page;
}

}  // namespace gcoord::cli::top
