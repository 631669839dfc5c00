#pragma once
// Models in the style of exports whose solution is known. States are integrals of what is looked at.
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/sample.hpp"

namespace manyfold::test {

class KnownExports : public CommandTest {
 protected:
  /// The values at the end; each test with methods of one step and of several, by day with one of them.
  void solve(const std::string& head, const std::string& declarations, const std::string& equations,
             const std::function<void(const nlohmann::json&)>& look, const std::vector<std::string>& methods) const {
    std::ofstream(folder_ / "m.mo") << "//! base 0.1.0\npackage 'M'\n"
                                    << head << "model 'M'\n"
                                    << declarations << equations << "end 'M';\nend 'M';\n";
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::size_t first = sum_of_letters(test) % methods.size();
    for (std::size_t k = 0; k < methods.size(); ++k) {
      if (!is_sampled(k, first, methods.size())) continue;
      const auto outcome = call(fmt::format("solve m.mo --json --rtol 1e-8 --atol 1e-10 --method {}", methods[k]));
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      look(nlohmann::json::parse(outcome.out)["values"]);
    }
  }
  static void expect(const nlohmann::json& values, const char* name, double value, double tolerance = 1e-6) {
    EXPECT_NEAR(values[name].get<double>(), value, tolerance) << name;
  }
};

inline std::string integral(const std::string& name, const std::string& of) {
  return fmt::format("der('{}') = {};\n", name, of);
}
inline std::string zero_at_start(const std::string& name) {
  return fmt::format("Real '{}'(start = 0.0, fixed = true);\n", name);
}

}  // namespace manyfold::test
