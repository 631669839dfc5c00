// `check`: what is wrong with a model, without integrating.
#include "host/cli/commands.hpp"
#include "host/cli/common.hpp"
#include "host/compiler/kernel_library.hpp"
#include "host/compiler/model_source.hpp"
#include "host/io/result_names.hpp"

namespace manyfold::cli {

int check(const std::string& model) {
  InspectedModel inspected = inspect_model(model);
  for (const std::string& warning : inspected.warnings) std::cerr << warning << '\n';
  std::vector<std::string> problems = unfit_names(inspected.model);
  problems.insert(problems.end(), inspected.problems.begin(), inspected.problems.end());
  // Not the header that a Modelica file becomes.
  const std::string file = is_modelica(model) ? model : inspected.file.string();
  for (const std::string& problem : problems) {
    std::cerr << fmt::format("{}: error: {}\n", file, problem);
  }
  if (!problems.empty()) return misuse;
  std::cout << fmt::format("{}: no problems found\n", model);
  return all_succeeded;
}

}  // namespace manyfold::cli
