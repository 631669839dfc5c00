// `check`: what is wrong with a model, without integrating.
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/io/result_names.hpp"

namespace manyfold::cli {

int check(const std::string& model) {
  InspectedModel inspected = inspect_model(model);
  std::vector<std::string> problems = unfit_names(inspected.model);
  problems.insert(problems.end(), inspected.problems.begin(), inspected.problems.end());
  // A Modelica file, not what was made of it.
  const std::string file = std::filesystem::path(model).has_extension() ? model : inspected.file.string();
  for (const std::string& problem : problems) {
    std::cerr << fmt::format("{}: error: {}\n", file, problem);
  }
  if (!problems.empty()) return misuse;
  std::cout << fmt::format("{}: no problems found\n", model);
  return all_succeeded;
}

}  // namespace manyfold::cli
