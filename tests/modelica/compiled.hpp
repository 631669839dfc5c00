#pragma once
// Models that are compiled from a text.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <manyfold/error.hpp>

#include "host/modelica/compile.hpp"

namespace manyfold::test {

/// model m DECLARATIONS equation EQUATIONS end m;
inline std::string model_text(const std::string& declarations, const std::string& equations) {
  return "model m\n" + declarations + "\nequation\n" + equations + "\nend m;\n";
}

/// The same in a package P of an export, as its model M, beside other classes.
inline std::string package_text(const std::string& classes, const std::string& declarations,
                                const std::string& equations) {
  return "package 'P'\n" + classes + "\nmodel 'M'\n" + declarations + "\nequation\n" + equations +
         "\nend 'M';\nend 'P';\n";
}

inline modelica::CompiledModel compiled(const std::string& text) {
  return modelica::compile_model(text, "m.mo");
}

/// What is said of a model that is wrong.
inline std::string errors_of(const std::string& text) {
  try {
    compiled(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

inline void expect_errors(const std::string& text, const std::vector<std::string>& fragments) {
  const std::string errors = errors_of(text);
  for (const std::string& fragment : fragments) {
    EXPECT_NE(errors.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << errors;
  }
}

/// The first number of `text` behind `name`.
inline double number_after(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(name);
  return at == std::string::npos ? NAN : std::stod(text.substr(at + name.size()));
}

}  // namespace manyfold::test
