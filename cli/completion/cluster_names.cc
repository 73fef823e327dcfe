#include "cli/completion/cluster_names.h"

#include "cli/completion/limited_client.h"
#include "cli/completion/lock_names.h"
#include "cli/completion/node_names.h"
#include "common/text/printable.h"
#include "security/roles/role_table.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace gcoord::cli {

namespace {

using client::AccessSubject;
using client::DenialScope;
using client::LimitScope;

// Names that may be offered, each once.
class Offered {
 public:
  explicit Offered(const std::string& beginning) : beginning_(beginning) {}

  void add(const std::string& name) {
    // One that begins as an option would be read as one.
    const bool typed = is_printable(name) && !name.empty() && !name.starts_with('-');
    if (typed && !full() && name.starts_with(beginning_) &&
        std::ranges::find(names_, name) == names_.end()) {
      names_.push_back(name);
    }
  }

  bool full() const { return names_.size() >= kNamesMax; }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  const std::string& beginning_;
  std::vector<std::string> names_;
};

// A text below all that begin so and above all lower ones: names are UTF-8, which has no byte 0xff.
std::string just_below(std::string text) {
  if (text.empty() || text.back() == '\0') {
    return "";
  }
  text.back() = static_cast<char>(text.back() - 1);
  return text + '\xff';
}

// What is asked, and where the answers go.
class Question {
 public:
  Question(client::Client& client, const std::string& beginning)
      : client_(client), beginning_(beginning), offered_(beginning) {}

  void add(NamesOf what) {
    switch (what) {
      case NamesOf::Users:
        return add_rows(AccessSubject::Users);
      case NamesOf::Roles:
        offered_.add(std::string{security::kRootRole});
        return add_rows(AccessSubject::Roles);
      case NamesOf::Principals:
        add_rows(AccessSubject::Users);
        return add(LimitScope::Principal);
      case NamesOf::LimitPrincipals:
        return add(LimitScope::Principal);
      case NamesOf::LimitPrefixes:
        return add(LimitScope::Prefix);
      case NamesOf::LimitNetworks:
        return add(LimitScope::Network);
      case NamesOf::DeniedPrincipals:
        return add(DenialScope::Principal);
      case NamesOf::DeniedSerials:
        return add(DenialScope::Serial);
      case NamesOf::DeniedNames:
        return add(DenialScope::CertificateName);
      case NamesOf::DeniedNetworks:
        return add(DenialScope::Network);
      case NamesOf::Nothing:
      case NamesOf::Locks:
      case NamesOf::Nodes:
        return;
    }
  }

  std::vector<std::string> take() { return offered_.take(); }

 private:
  void add_rows(AccessSubject subject) {
    client::AccessQuery query;
    query.subject = subject;
    query.after = just_below(beginning_);
    query.limit = kNamesMax;
    const auto report = client_.access(query);
    if (!report.ok()) {
      return;
    }
    for (const client::AccessUser& user : report.value().users) {
      offered_.add(user.name);
    }
    for (const client::AccessRole& role : report.value().roles) {
      offered_.add(role.name);
    }
  }

  void add(LimitScope scope) { add_limits(false, static_cast<std::uint8_t>(scope)); }

  void add(DenialScope scope) { add_limits(true, static_cast<std::uint8_t>(scope)); }

  // Limits or denials of one scope, page by page: they lie by scope.
  void add_limits(bool denials, std::uint8_t scope) {
    client::LimitsQuery query;
    query.denials = denials;
    query.after_scope = static_cast<std::uint8_t>(scope - 1);
    query.after_name = std::string(1, '\xff');
    while (!offered_.full()) {
      const auto page = client_.limits(query);
      if (!page.ok()) {
        return;
      }
      const auto rows = rows_of(page.value());
      for (const auto& [of, name] : rows) {
        if (of == scope) {
          offered_.add(name);
        }
      }
      if (!page.value().more || rows.empty() || rows.back().first > scope) {
        return;
      }
      std::tie(query.after_scope, query.after_name) = rows.back();
    }
  }

  using Row = std::pair<std::uint8_t, std::string>;

  static std::vector<Row> rows_of(const client::LimitsReport& page) {
    std::vector<Row> rows;
    for (const client::Limit& limit : page.limits) {
      rows.emplace_back(static_cast<std::uint8_t>(limit.scope), limit.name);
    }
    for (const client::Denial& denial : page.denials) {
      rows.emplace_back(static_cast<std::uint8_t>(denial.scope), denial.name);
    }
    return rows;
  }

  client::Client& client_;
  const std::string& beginning_;
  Offered offered_;
};

}  // namespace

std::vector<std::string> cluster_names(const WantedNames& wanted, client::ClientOptions access) {
  const auto& [what, beginning, time] = wanted;
  if (what == NamesOf::Locks) {
    return lock_names(std::move(access), beginning, {.time = time});
  }
  if (what == NamesOf::Nodes) {
    return node_names(std::move(access), beginning, time);
  }
  if (what == NamesOf::Nothing) {
    return {};
  }
  LimitedClient limited{std::move(access), time};
  if (!limited.client().ok()) {
    return {};
  }
  Question question{limited.client().value(), beginning};
  question.add(what);
  return question.take();
}

}  // namespace gcoord::cli
