// What commands do to users and roles, and what their bytes survive.
#include "security/roles/role_apply.h"

#include "common/random.h"
#include "security/roles/facts.h"
#include "security/roles/grant_rules.h"
#include "security/roles/part.h"
#include "security/roles/role_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gcoord::security {
namespace {

using Kind = AccessKind;

AccessCommand command(Kind kind, std::string name = {}) {
  AccessCommand made;
  made.kind = kind;
  made.name = std::move(name);
  made.who = "ann@build";
  return made;
}

AccessCommand with_roles(Kind kind, std::string name, std::vector<std::string> roles) {
  AccessCommand made = command(kind, std::move(name));
  made.roles = std::move(roles);
  return made;
}

AccessCommand with_grants(Kind kind, std::string name, std::vector<Grant> grants) {
  AccessCommand made = command(kind, std::move(name));
  made.grants = std::move(grants);
  return made;
}

Grant on(std::string prefix, Right right) {
  return {.prefix = std::move(prefix), .exact = false, .rights = bit_of(right)};
}

Verifier verifier(std::uint8_t byte) {
  return {.algorithm = 1, .bytes = std::vector<std::byte>(64, std::byte{byte})};
}

std::vector<std::byte> bytes_of(const AccessCpu& state) {
  std::vector<std::byte> bytes;
  state.serialize(bytes);
  return bytes;
}

std::size_t rows_of(const AccessTable& table) {
  std::size_t bytes = 0;
  for (const auto& [name, user] : table.users) {
    bytes += bytes_of(name, user);
  }
  for (const auto& [name, role] : table.roles) {
    bytes += bytes_of(name, role);
  }
  return bytes;
}

struct Random {
  std::uint32_t below(std::uint32_t bound) { return random_below(random64(11, 1, ++count), bound); }

  std::uint64_t count = 0;
};

// Commands for the newest epoch. After each one: a refused one changed nothing, and the bytes are
// the state's.
class Table {
 public:
  AccessCode run(AccessCommand asked) {
    asked.expected = state_.table().epoch;
    asked.number = ++number_;
    const AccessCpu before = state_;
    const AccessCode expected = state_.preview(asked);
    const AccessCode code = state_.apply(encode_access_command(asked));
    EXPECT_EQ(code, expected);
    if (code != AccessCode::Applied) {
      EXPECT_EQ(state_, before);
    } else {
      EXPECT_EQ(state_.table().epoch, before.table().epoch + 1);
      EXPECT_EQ(state_.made_by(number_), state_.table().epoch);
    }
    EXPECT_EQ(state_.table().row_bytes, rows_of(state_.table()));
    EXPECT_EQ(AccessCpu::parse(bytes_of(state_)), state_);
    return code;
  }

  const AccessTable& operator*() const { return state_.table(); }

  const AccessTable* operator->() const { return &state_.table(); }

  AccessCpu& state() { return state_; }

 private:
  AccessCpu state_;
  std::uint64_t number_ = 0;
};

Table with_admin() {
  Table table;
  EXPECT_EQ(table.run(with_roles(Kind::UserAdd, "ann", {"root"})), AccessCode::Applied);
  return table;
}

TEST(RoleApply, UsersComeGetRolesAndGo) {
  Table table;
  AccessCommand add = with_roles(Kind::UserAdd, "bob", {"root"});
  add.verifier = verifier(1);
  EXPECT_EQ(table.run(add), AccessCode::Applied);
  EXPECT_EQ(table.run(add), AccessCode::UserExists);
  EXPECT_EQ(table->users.at("bob").verifier, verifier(1));
  EXPECT_EQ(table->users.at("bob").changed, 1u);
  EXPECT_EQ(table.run(with_roles(Kind::UserGrant, "bob", {"ops"})), AccessCode::RoleUnknown);
  EXPECT_EQ(table.run(with_roles(Kind::UserGrant, "eve", {"root"})), AccessCode::UserUnknown);
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "ops")), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::UserGrant, "bob", {"ops", "ops"})), AccessCode::Applied);
  EXPECT_EQ(table->users.at("bob").roles, (std::vector<std::string>{"ops", "root"}));
  EXPECT_EQ(table.run(with_roles(Kind::UserRevoke, "bob", {"root"})), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::UserRevoke, "bob", {"root"})), AccessCode::NothingToRevoke);
  EXPECT_EQ(table.run(command(Kind::UserDelete, "bob")), AccessCode::Applied);
  EXPECT_EQ(table.run(command(Kind::UserDelete, "bob")), AccessCode::UserUnknown);
}

TEST(RoleApply, APasswordOrBeingDisabledChangesTheEpochOfAUser) {
  Table table = with_admin();
  AccessCommand password = command(Kind::UserPassword, "ann");
  password.verifier = verifier(2);
  EXPECT_EQ(table.run(password), AccessCode::Applied);
  EXPECT_EQ(table->users.at("ann").changed, 2u);
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "ops")), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::UserGrant, "ann", {"ops"})), AccessCode::Applied);
  EXPECT_EQ(table->users.at("ann").changed, 2u);
  EXPECT_EQ(table.run(command(Kind::UserDisable, "ann")), AccessCode::Applied);
  EXPECT_EQ(table->users.at("ann").changed, 5u);
  EXPECT_EQ(table.run(command(Kind::UserDisable, "ann")), AccessCode::StateWrong);
  EXPECT_EQ(table.run(command(Kind::UserEnable, "ann")), AccessCode::Applied);
  password.verifier = {};
  EXPECT_EQ(table.run(password), AccessCode::Applied);
  EXPECT_TRUE(table->users.at("ann").verifier.is_none());
  password.verifier = {.algorithm = 1, .bytes = {}};
  EXPECT_EQ(table.run(password), AccessCode::VerifierInvalid);
}

TEST(RoleApply, GrantsOfOnePrefixAreOneAndCanBeTakenAwayBitByBit) {
  Table table;
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "ops", {on("jobs/", Right::LockRead)})),
            AccessCode::Applied);
  EXPECT_EQ(
      table.run(with_grants(
          Kind::RoleGrant, "ops", {on("jobs/", Right::LockCheck), on("", Right::ClusterRead)})),
      AccessCode::Applied);
  const std::vector<Grant> both = {
      {.prefix = "", .exact = false, .rights = bit_of(Right::ClusterRead)},
      {.prefix = "jobs/",
       .exact = false,
       .rights = bit_of(Right::LockRead) | bit_of(Right::LockCheck)}};
  EXPECT_EQ(table->roles.at("ops").grants, both);
  EXPECT_EQ(table.run(with_grants(Kind::RoleRevoke, "ops", {on("jobs/a", Right::LockRead)})),
            AccessCode::NothingToRevoke);
  EXPECT_EQ(table.run(with_grants(Kind::RoleRevoke, "ops", both)), AccessCode::Applied);
  EXPECT_TRUE(table->roles.at("ops").grants.empty());
}

TEST(RoleApply, ARightOfTheClusterIsNotGrantedOnAPrefix) {
  Table table;
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "ops", {on("jobs/", Right::ClusterRead)})),
            AccessCode::GrantInvalid);
  Grant unknown = on("", Right::LockRead);
  unknown.rights |= RightMask{1} << 63;
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "ops", {unknown})), AccessCode::GrantInvalid);
  Grant nowhere = on("", Right::LockRead);
  nowhere.exact = true;
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "ops", {nowhere})), AccessCode::GrantInvalid);
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "ops", {on("a\x01", Right::LockRead)})),
            AccessCode::GrantInvalid);
}

TEST(RoleApply, TheRoleRootIsReserved) {
  Table table = with_admin();
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "root")), AccessCode::RoleReserved);
  EXPECT_EQ(table.run(command(Kind::RoleDelete, "root")), AccessCode::RoleReserved);
  EXPECT_EQ(table.run(with_grants(Kind::RoleRevoke, "root", {on("", Right::LockRead)})),
            AccessCode::RoleReserved);
}

TEST(RoleApply, ARoleNeverIncludesItself) {
  Table table;
  EXPECT_EQ(table.run(with_roles(Kind::RoleAdd, "a", {"a"})), AccessCode::RoleUnknown);
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "a")), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleGrant, "a", {"a"})), AccessCode::IncludeLoop);
  EXPECT_EQ(table.run(with_roles(Kind::RoleAdd, "b", {"a"})), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleAdd, "c", {"b"})), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleGrant, "a", {"c"})), AccessCode::IncludeLoop);
  EXPECT_EQ(table.run(with_roles(Kind::RoleRevoke, "b", {"a"})), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleGrant, "a", {"c"})), AccessCode::Applied);
}

TEST(RoleApply, RolesAreOneWithinTheOtherUpToABound) {
  Table table;
  for (std::size_t k = 0; k < kIncludeDepthMax; ++k) {
    AccessCommand add = command(Kind::RoleAdd, "r" + std::to_string(k));
    add.roles = k == 0 ? std::vector<std::string>{} : std::vector{"r" + std::to_string(k - 1)};
    EXPECT_EQ(table.run(add), AccessCode::Applied);
  }
  const std::string last = "r" + std::to_string(kIncludeDepthMax - 1);
  EXPECT_EQ(table.run(with_roles(Kind::RoleAdd, "over", {last})), AccessCode::IncludeTooDeep);
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "under")), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleGrant, "r0", {"under"})), AccessCode::IncludeTooDeep);
}

TEST(RoleApply, ADeletedRoleIsTakenFromAllThatHaveIt) {
  Table table = with_admin();
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "inner")), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleAdd, "outer", {"inner"})), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::UserGrant, "ann", {"inner"})), AccessCode::Applied);
  EXPECT_EQ(table.run(command(Kind::RoleDelete, "inner")), AccessCode::Applied);
  EXPECT_TRUE(table->roles.at("outer").includes.empty());
  EXPECT_EQ(table->users.at("ann").roles, std::vector<std::string>{"root"});
}

TEST(RoleApply, RightsAreSwitchedOnOnlyWhereSomebodyCanChangeThem) {
  Table table;
  EXPECT_EQ(table.run(command(Kind::Enable)), AccessCode::NoAdmin);
  EXPECT_EQ(table.run(command(Kind::Disable)), AccessCode::StateWrong);
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "auth", {on("", Right::AuthAdmin)})),
            AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::RoleAdd, "chief", {"auth"})), AccessCode::Applied);
  EXPECT_EQ(table.run(with_roles(Kind::UserAdd, "ann", {"chief"})), AccessCode::Applied);
  EXPECT_EQ(table.run(command(Kind::UserDisable, "ann")), AccessCode::Applied);
  EXPECT_EQ(table.run(command(Kind::Enable)), AccessCode::NoAdmin);
  EXPECT_EQ(table.run(command(Kind::UserEnable, "ann")), AccessCode::Applied);
  EXPECT_EQ(table.run(command(Kind::Enable)), AccessCode::Applied);
  EXPECT_EQ(table.run(command(Kind::Enable)), AccessCode::StateWrong);

  EXPECT_EQ(table.run(command(Kind::UserDelete, "ann")), AccessCode::LastAdmin);
  EXPECT_EQ(table.run(command(Kind::UserDisable, "ann")), AccessCode::LastAdmin);
  EXPECT_EQ(table.run(with_roles(Kind::UserRevoke, "ann", {"chief"})), AccessCode::LastAdmin);
  EXPECT_EQ(table.run(with_roles(Kind::RoleRevoke, "chief", {"auth"})), AccessCode::LastAdmin);
  EXPECT_EQ(table.run(with_grants(Kind::RoleRevoke, "auth", {on("", Right::AuthAdmin)})),
            AccessCode::LastAdmin);
  EXPECT_EQ(table.run(command(Kind::RoleDelete, "auth")), AccessCode::LastAdmin);
  EXPECT_EQ(table.run(command(Kind::RoleDelete, "chief")), AccessCode::LastAdmin);

  AccessCommand recover = command(Kind::Recover);
  recover.marks = {{NodeId{1}, 7}, {NodeId{2}, 8}};
  EXPECT_EQ(table.run(recover), AccessCode::Applied);
  EXPECT_FALSE(table->enabled);
  EXPECT_EQ(table->recoveries, 1u);
  EXPECT_EQ(table->recovered, recover.marks);
  EXPECT_EQ(table.run(command(Kind::UserDelete, "ann")), AccessCode::Applied);
}

TEST(RoleApply, OfTwoChangesOfOneEpochOneIsRefusedAndARepeatedOneIsKnown) {
  AccessCpu state;
  AccessCommand first = command(Kind::UserAdd, "ann");
  first.number = 77;
  AccessCommand second = command(Kind::UserAdd, "bob");
  second.number = 78;
  EXPECT_EQ(state.apply(encode_access_command(first)), AccessCode::Applied);
  EXPECT_EQ(state.apply(encode_access_command(second)), AccessCode::Stale);
  EXPECT_EQ(state.made_by(77), 1u);
  EXPECT_EQ(state.made_by(78), std::nullopt);
  EXPECT_EQ(state.made_by(0), std::nullopt);
}

TEST(RoleApply, UsersRolesAndBytesAreBounded) {
  AccessTable table;
  AccessCommand add = command(Kind::RoleAdd);
  for (std::size_t k = 0; k < kRolesMax; ++k) {
    add.name = "role-" + std::to_string(k);
    add.expected = table.epoch;
    ASSERT_EQ(apply(table, add), AccessCode::Applied);
  }
  add.name = "one-more";
  add.expected = table.epoch;
  EXPECT_EQ(apply(table, add), AccessCode::TooManyRoles);

  add = command(Kind::UserAdd);
  add.verifier = verifier(3);
  for (std::size_t k = 0; k < kUsersMax; ++k) {
    add.name = "user-" + std::to_string(k);
    add.roles = {"role-0", "role-1"};
    add.expected = table.epoch;
    ASSERT_EQ(apply(table, add), AccessCode::Applied);
  }
  // What the header of the table says of a cluster with so many.
  EXPECT_LT(table.row_bytes, std::size_t{1'300'000});
  add.name = "one-more";
  add.expected = table.epoch;
  EXPECT_EQ(apply(table, add), AccessCode::TooManyUsers);

  AccessCommand widen = command(Kind::RoleGrant);
  AccessCode code = AccessCode::Applied;
  for (std::size_t role = 0; role < kRolesMax && code == AccessCode::Applied; ++role) {
    widen.name = "role-" + std::to_string(role);
    for (std::size_t k = 0; k < kGrantsMax && code == AccessCode::Applied; ++k) {
      widen.grants = {on(std::to_string(k) + std::string(900, 'x'), Right::LockRead)};
      widen.expected = table.epoch;
      code = apply(table, widen);
    }
  }
  EXPECT_EQ(code, AccessCode::TableFull);
  EXPECT_LE(table.row_bytes, kTableBytesMax);
  EXPECT_EQ(table.row_bytes, rows_of(table));
}

TEST(RoleApply, GrantsOfARoleAndRolesOfAUserAreBounded) {
  Table table = with_admin();
  EXPECT_EQ(table.run(command(Kind::RoleAdd, "wide")), AccessCode::Applied);
  for (std::size_t k = 0; k < kGrantsMax; ++k) {
    EXPECT_EQ(table.run(with_grants(
                  Kind::RoleGrant, "wide", {on("p" + std::to_string(k), Right::LockRead)})),
              AccessCode::Applied);
  }
  EXPECT_EQ(table.run(with_grants(Kind::RoleGrant, "wide", {on("q", Right::LockRead)})),
            AccessCode::TooManyGrants);
  for (std::size_t k = 0; k <= kIncludesMax; ++k) {
    const std::string name = "n" + std::to_string(k);
    EXPECT_EQ(table.run(command(Kind::RoleAdd, name)), AccessCode::Applied);
    const bool fits = k < kIncludesMax;
    EXPECT_EQ(table.run(with_roles(Kind::RoleGrant, "wide", {name})),
              fits ? AccessCode::Applied : AccessCode::TooManyRoles);
    // One of its places has `root`.
    const bool fits_user = k + 1 < kRolesOfUserMax;
    EXPECT_EQ(table.run(with_roles(Kind::UserGrant, "ann", {name})),
              fits_user ? AccessCode::Applied : AccessCode::TooManyRoles);
  }
}

TEST(RoleApply, NamesArePrintableAndBounded) {
  Table table;
  for (const std::string& name : {std::string{},
                                  std::string{" a"},
                                  std::string{"a "},
                                  std::string{"a\n"},
                                  std::string{"\xff"},
                                  std::string(kUserNameBytesMax + 1, 'a')}) {
    EXPECT_FALSE(is_user_name(name)) << name;
  }
  EXPECT_TRUE(is_user_name("spiffe://example.org/gcoord/7/user/ann"));
  EXPECT_TRUE(is_user_name(std::string(kUserNameBytesMax, 'a')));
  EXPECT_FALSE(is_role_name(std::string(kRoleNameBytesMax + 1, 'a')));
  EXPECT_EQ(table.run(command(Kind::UserAdd, "a\n")), AccessCode::NameInvalid);
  EXPECT_EQ(table.run(command(Kind::RoleAdd, std::string(kRoleNameBytesMax + 1, 'a'))),
            AccessCode::NameInvalid);
}

TEST(AccessCommand, BytesOfEveryKindAreReadBackAndFieldsOfOtherKindsAreRefused) {
  for (std::uint8_t number = 1; number <= 14; ++number) {
    AccessCommand made = command(static_cast<Kind>(number));
    const bool named = made.kind < Kind::Enable;
    made.name = named ? "x" : "";
    EXPECT_EQ(decode_access_command(encode_access_command(made)), made) << int{number};
    EXPECT_NE(access_kind_name(made.kind), "unknown");
    made.name = "x";
    made.verifier = verifier(1);
    made.roles = {"r"};
    made.grants = {on("p", Right::LockRead)};
    made.marks = {{NodeId{1}, 7}};
    EXPECT_EQ(decode_access_command(encode_access_command(made)), std::nullopt) << int{number};
  }
  EXPECT_EQ(decode_access_command(encode_access_command(command(static_cast<Kind>(15)))),
            std::nullopt);
}

TEST(AccessCommand, FactsNameWhoAndWhatAndNeverTheVerifier) {
  AccessCommand add = with_roles(Kind::UserAdd, "bob", {"ops", "root"});
  add.verifier = verifier(0x41);
  add.proven = true;
  const auto facts = access_command_facts(add);
  EXPECT_EQ(facts.front(), (std::pair<std::string, std::string>{"kind", "user_add"}));
  std::string text;
  for (const auto& [name, value] : facts) {
    text += name + "=" + value + " ";
  }
  EXPECT_EQ(text,
            "kind=user_add user=bob password=set roles=ops,root principal=ann@build "
            "roles_epoch=0 ");
}

TEST(AccessCpu, CutOrChangedBytesAreRefusedOrMeanSomethingElse) {
  Table table = with_admin();
  EXPECT_EQ(table.run(with_grants(Kind::RoleAdd, "ops", {on("jobs/", Right::LockRead)})),
            AccessCode::Applied);
  const std::vector<std::byte> bytes = bytes_of(table.state());
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    EXPECT_FALSE(AccessCpu::parse(std::span{bytes}.first(length)).has_value()) << length;
  }
  EXPECT_TRUE(AccessCpu::parse({})->is_empty());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> changed = bytes;
    changed[at] ^= std::byte{1};
    if (const auto parsed = AccessCpu::parse(changed)) {
      EXPECT_EQ(bytes_of(*parsed), changed) << at;
    }
  }
}

TEST(AccessCpu, ThePartStandsBehindWhatIsThereAndIsNothingWhileEmpty) {
  std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}};
  append_access_part(AccessCpu{}, bytes);
  EXPECT_EQ(bytes.size(), 2u);
  Table table = with_admin();
  append_access_part(table.state(), bytes);
  const auto parts = split_access_part(bytes);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->before.size(), 2u);
  EXPECT_EQ(AccessCpu::parse(parts->access), table.state());
  bytes[bytes.size() - 5] = std::byte{0x7f};
  EXPECT_FALSE(split_access_part(bytes).has_value());
}

TEST(GrantRules, WordsOfAnOperatorBecomeGrants) {
  std::string error;
  const auto write = grants_of({.words = {"write"}, .prefix = "jobs/"}, error);
  ASSERT_TRUE(write) << error;
  EXPECT_EQ(grants_text(*write),
            "* session.open,session.own; jobs/* lock.acquire,elect.lead,group.join");
  const auto admin = grants_of({.words = {"admin"}, .prefix = "jobs/", .exact = true}, error);
  ASSERT_TRUE(admin);
  ASSERT_EQ(admin->size(), 1u);
  EXPECT_EQ(admin->front().rights, named_rights(kAllRights));
  EXPECT_EQ(scope_text(admin->front()), "jobs/");
  const auto all = grants_of({.words = {"admin"}, .prefix = ""}, error);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->front().rights, kAllRights);
  EXPECT_FALSE(grants_of({.words = {"lock.steal"}, .prefix = ""}, error));
  EXPECT_EQ(error, "'lock.steal' is no right");
  EXPECT_FALSE(grants_of({.words = {"cluster.read"}, .prefix = "a"}, error));
  EXPECT_FALSE(grants_of({.words = {}, .prefix = "a"}, error));
}

// Random commands: nothing breaks a bound, and the bytes are the state's after each.
TEST(RoleApply, AnyCommandsLeaveATableThatCanBeReadBack) {
  Table table;
  Random random;
  const auto name = [&](const char* kind) { return kind + std::to_string(random.below(4)); };
  for (int k = 0; k < 3000; ++k) {
    AccessCommand made = command(static_cast<Kind>(1 + random.below(14)));
    const bool of_role = made.kind >= Kind::RoleAdd && made.kind <= Kind::RoleRevoke;
    if (made.kind < Kind::Enable) {
      made.name = of_role ? name("r") : name("u");
    }
    const bool lists = made.kind != Kind::UserDelete && made.kind != Kind::UserPassword &&
                       made.kind != Kind::UserEnable && made.kind != Kind::UserDisable &&
                       made.kind != Kind::RoleDelete && made.kind < Kind::Enable;
    if (lists && random.below(3) != 0) {
      made.roles = {random.below(5) == 0 ? "root" : name("r")};
    }
    if (lists && of_role && random.below(2) == 0) {
      made.grants = {on(random.below(2) == 0 ? "" : name("p"),
                        random.below(2) == 0 ? Right::AuthAdmin : Right::LockRead)};
    }
    static_cast<void>(table.run(made));
    ASSERT_TRUE(!table->enabled || has_admin(*table));
    ASSERT_LE(include_depth(*table).value_or(99), kIncludeDepthMax);
  }
  EXPECT_GT(table->epoch, 300u);
}

TEST(RoleTable, NamesTheRolesThatLostTheChoiceOfSessionsIds) {
  AccessTable table;
  const auto role = [](RightMask rights, std::string prefix = {}) {
    return Role{.grants = {{.prefix = std::move(prefix), .exact = false, .rights = rights}},
                .includes = {}};
  };
  table.roles["admins of before"] = role(kEarlierRights);
  table.roles["all"] = role(kAllRights);
  table.roles["locks"] = role(bit_of(Right::LockAcquire), "jobs/");
  table.roles["readers"] = role(bit_of(Right::SessionReadAll));
  table.roles["by another"] = Role{.grants = {}, .includes = {"readers"}};
  table.roles["choosers"] = role(bit_of(Right::SessionChoose));
  table.roles["both"] = Role{.grants = {}, .includes = {"choosers", "readers"}};
  table.roles["with root"] = role(bit_of(Right::SessionReadAll));
  table.roles["with root"].includes = {std::string{kRootRole}};
  EXPECT_EQ(roles_that_chose_sessions(table),
            (std::vector<std::string_view>{"admins of before", "by another", "readers"}));
  // However deep, whichever name comes first.
  table.roles["a"] = Role{.grants = {}, .includes = {"by another"}};
  table.roles["0"] = Role{.grants = {}, .includes = {"a", "nobody's"}};
  table.roles["1"] = Role{.grants = {}, .includes = {"0", "both"}};
  EXPECT_EQ(roles_that_chose_sessions(table),
            (std::vector<std::string_view>{"0", "a", "admins of before", "by another", "readers"}));
  EXPECT_EQ(kAllRights & ~kEarlierRights, bit_of(Right::SessionChoose));
}

// As many roles as there may be, each of which includes all that it may, as deep as it may. A
// closure for each of them took seconds on every node's loop.
TEST(RoleTable, NamesThemWhereAllRolesIncludeAllThatTheyMay) {
  AccessTable table;
  constexpr std::size_t kOfLevel = kRolesMax / kIncludeDepthMax;
  const auto name = [](std::size_t level, std::size_t k) {
    return std::to_string(level) + std::string(100, '-') + std::to_string(k % kOfLevel);
  };
  for (std::size_t level = 0; level < kIncludeDepthMax; ++level) {
    for (std::size_t k = 0; k < kOfLevel; ++k) {
      Role& role = table.roles[name(level, k)];
      for (std::size_t inner = 0; level + 1 < kIncludeDepthMax && inner < kIncludesMax; ++inner) {
        role.includes.push_back(name(level + 1, k * kIncludesMax + inner));
      }
    }
  }
  ASSERT_EQ(table.roles.size(), kRolesMax);
  EXPECT_TRUE(roles_that_chose_sessions(table).empty());
  for (std::size_t k = 0; k < kOfLevel; ++k) {
    table.roles[name(kIncludeDepthMax - 1, k)].grants = {{.rights = kEarlierRights}};
  }
  EXPECT_EQ(roles_that_chose_sessions(table).size(), kRolesMax);
  table.roles[name(kIncludeDepthMax - 1, 0)].grants = {{.rights = kAllRights}};
  EXPECT_LT(roles_that_chose_sessions(table).size(), kRolesMax);
}

}  // namespace
}  // namespace gcoord::security
