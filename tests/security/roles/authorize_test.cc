// The decision what a principal may do, against a model that looks at every grant.
#include "security/roles/authorize.h"

#include "common/random.h"
#include "security/roles/grant_rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {
namespace {

Grant grant(std::string prefix, RightMask rights, bool exact = false) {
  return {.prefix = std::move(prefix), .exact = exact, .rights = rights};
}

struct Random {
  std::uint64_t seed = 0;
  std::uint64_t count = 0;

  std::uint32_t below(std::uint32_t bound) {
    return random_below(random64(seed, 2, ++count), bound);
  }

  // Short, of few letters and of bytes above 127, so that texts begin with one another often.
  std::string text(std::uint32_t bytes_max) {
    constexpr std::string_view kLetters = "ab\xc3\xa4";
    std::string made;
    for (std::uint32_t k = below(bytes_max + 1); k > 0; --k) {
      made += kLetters[below(4)];
    }
    return made;
  }
};

RightMask model_rights(const std::vector<Grant>& grants, std::string_view name, bool whole) {
  RightMask rights = 0;
  for (const Grant& each : grants) {
    const bool matches = each.exact ? !whole && name == each.prefix : name.starts_with(each.prefix);
    rights |= matches ? each.rights : 0;
  }
  return rights;
}

TEST(RightsOf, GrantsOfEveryPrefixOfANameCountTogether) {
  const RightMask read = bit_of(Right::LockRead);
  const RightMask check = bit_of(Right::LockCheck);
  const RightMask acquire = bit_of(Right::LockAcquire);
  const RightsOf rights({grant("jobs/", read), grant("jobs/a/", check), grant("jobs/ab", acquire)},
                        7);
  EXPECT_EQ(rights.epoch(), 7u);
  EXPECT_EQ(rights.rights_on("jobs/a/1"), read | check);
  EXPECT_EQ(rights.rights_on("jobs/abc"), read | acquire);
  EXPECT_EQ(rights.rights_on("jobs/"), read);
  EXPECT_EQ(rights.rights_on("jobs"), 0u);
  EXPECT_EQ(rights.rights_on("jobs0"), 0u);
  EXPECT_EQ(rights.rights_on(""), 0u);
  EXPECT_TRUE(rights.allows_any(Right::LockCheck));
  EXPECT_FALSE(rights.allows_any(Right::LockBreak));
  EXPECT_FALSE(rights.allows_all_below(Right::LockCheck, "jobs/"));
  EXPECT_TRUE(rights.allows_all_below(Right::LockRead, "jobs/"));
  EXPECT_FALSE(rights.allows_all_below(Right::LockRead, "job"));
}

TEST(RightsOf, ANameAloneIsNoPrefix) {
  const RightMask read = bit_of(Right::LockRead);
  const RightsOf rights({grant("jobs/a", read, true)}, 1);
  EXPECT_TRUE(rights.allows(Right::LockRead, "jobs/a"));
  EXPECT_FALSE(rights.allows(Right::LockRead, "jobs/a1"));
  EXPECT_FALSE(rights.allows(Right::LockRead, "jobs/"));
  EXPECT_FALSE(rights.allows_all_below(Right::LockRead, "jobs/a"));
}

TEST(RightsOf, NobodyHasARightThatWasNotGranted) {
  const RightsOf none;
  for (const RightRow& row : right_rows()) {
    EXPECT_FALSE(none.allows(row.right, "a"));
    EXPECT_FALSE(none.allows(row.right, ""));
    EXPECT_FALSE(none.allows_all_below(row.right, ""));
    EXPECT_FALSE(none.allows_any(row.right));
    EXPECT_TRUE(all_rights()->allows(row.right, "a"));
    EXPECT_TRUE(all_rights()->allows_all_below(row.right, ""));
  }
}

TEST(RightsOf, AgreesWithAModelThatLooksAtEveryGrant) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random{seed};
    std::vector<Grant> grants;
    for (std::uint32_t k = random.below(24); k > 0; --k) {
      const RightMask rights = RightMask{1} << random.below(kRightCount);
      const std::string prefix = random.text(5);
      grants.push_back(grant(prefix, rights, !prefix.empty() && random.below(4) == 0));
    }
    const RightsOf rights(grants, seed);
    for (int k = 0; k < 200; ++k) {
      const std::string name = random.text(8);
      const RightMask expected = model_rights(grants, name, false);
      ASSERT_EQ(rights.rights_on(name), expected) << "seed " << seed << " name " << name;
      const RightMask whole = model_rights(grants, name, true);
      for (const RightRow& row : right_rows()) {
        const RightMask bit = bit_of(row.right);
        ASSERT_EQ(rights.allows(row.right, name), (expected & bit) != 0);
        ASSERT_EQ(rights.allows_all_below(row.right, name), (whole & bit) != 0);
      }
    }
  }
}

// What a user may do is what its roles grant, and those that they include, however deep.
struct RoleModel {
  const AccessTable& table;
  std::set<std::string> seen;

  RightMask rights(const std::vector<std::string>& roles, std::string_view name) {
    RightMask found = 0;
    for (const std::string& role : roles) {
      if (!seen.insert(role).second) {
        continue;
      }
      if (role == kRootRole) {
        found |= kAllRights;
        continue;
      }
      found |= model_rights(table.roles.at(role).grants, name, false);
      found |= rights(table.roles.at(role).includes, name);
    }
    return found;
  }
};

TEST(RightsOf, AUserHasWhatItsRolesGrantAndInclude) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random{seed + 1000};
    AccessTable table;
    table.epoch = seed + 1;
    for (std::uint32_t k = 0; k < 12; ++k) {
      Role role;
      for (std::uint32_t g = random.below(4); g > 0; --g) {
        add_grant(role.grants, grant(random.text(4), RightMask{1} << random.below(kRightCount)));
      }
      for (std::uint32_t i = random.below(3); i > 0 && k > 0; --i) {
        role.includes.push_back(random.below(40) == 0 ? std::string{kRootRole}
                                                      : "r" + std::to_string(random.below(k)));
      }
      table.roles.emplace("r" + std::to_string(k), std::move(role));
    }
    User user;
    for (std::uint32_t k = random.below(4); k > 0; --k) {
      user.roles.push_back("r" + std::to_string(random.below(12)));
    }
    table.users.emplace("ann", user);
    const auto rights = rights_of(table, "ann");
    EXPECT_EQ(rights->epoch(), table.epoch);
    for (int k = 0; k < 100; ++k) {
      const std::string name = random.text(6);
      ASSERT_EQ(rights->rights_on(name), (RoleModel{table, {}}.rights(user.roles, name)));
    }
    table.users.at("ann").disabled = true;
    EXPECT_EQ(rights_of(table, "ann")->rights_on("a"), 0u);
    EXPECT_EQ(rights_of(table, "eve")->rights_on("a"), 0u);
  }
}

TEST(Rights, EveryRightHasANameThatIsRead) {
  std::set<std::string_view> names;
  for (const RightRow& row : right_rows()) {
    EXPECT_EQ(parse_right(row.name), row.right);
    EXPECT_EQ(right_name(row.right), row.name);
    EXPECT_TRUE(names.insert(row.name).second);
  }
  EXPECT_EQ(parse_right("lock"), std::nullopt);
  EXPECT_EQ(rights_text(bit_of(Right::Watch) | bit_of(Right::LockRead)), "lock.read,watch");
}

}  // namespace
}  // namespace gcoord::security
