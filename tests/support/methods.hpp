#pragma once
// Which methods a test takes that is about their code, not about their coefficients.
#include <algorithm>
#include <string>
#include <vector>

#include "host/compiler/catalog.hpp"

namespace manyfold::test {

/// All methods but those that differ from another one of their family in the tableau alone.
inline std::vector<std::string> methods_with_code_of_their_own() {
  std::vector<std::string> methods = method_names();
  std::erase_if(methods, [](const std::string& method) {
    const auto twins = {"radau1",    "radau13",   "lobatto2", "sdirk2", "sdirk3", "cash4",  "esdirk43",
                        "kvaerno43", "kvaerno54", "trbdf2",   "rodas3", "rodas4", "dirka2", "dirka3"};
    return std::find(twins.begin(), twins.end(), method) != twins.end();
  });
  return methods;
}

}  // namespace manyfold::test
