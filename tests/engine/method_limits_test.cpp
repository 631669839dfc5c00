// The table of what methods can integrate: that it is the catalogue's, the documentation's, and what is done.
#include <gtest/gtest.h>

#include <algorithm>

#include <manyfold/ensemble.hpp>

#include "host/compiler/catalog.hpp"
#include "problems/pendulum_index2/pendulum_index2.hpp"
#include "problems/pendulum_index3/pendulum_index3.hpp"
#include "tests/support/ensembles.hpp"

namespace manyfold {
namespace {

/// A model of the form and index, as far as the table asks.
ModelDescription model(Form form, int index, bool algebraic = true) {
  ModelDescription description;
  description.name = "some";
  description.form = form;
  description.variables = {{"x", "1", "", 0.0, false, std::max(index - 1, 1)},
                           {"z", "1", "", 0.0, algebraic, algebraic ? index : 1}};
  return description;
}

bool refused(const ModelDescription& description, std::string_view method) {
  try {
    check_method(description, std::string(method));
    return false;
  } catch (const UsageError&) {
    return true;
  }
}

std::string message(const ModelDescription& description, const std::string& method) {
  try {
    return check_method(description, method);
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(MethodLimits, OrdersFallWithTheIndex) {
  ASSERT_GE(methods().size(), 30U);
  for (const MethodDescription& method : methods()) {
    EXPECT_EQ(method.limits.name, method.name);
    EXPECT_LE(method.limits.order_of_index2, method.order) << method.name;
    EXPECT_LE(method.limits.order_of_index3, method.limits.order_of_index2) << method.name;
  }
}

TEST(MethodLimits, TheDocumentationHasTheTable) {
  std::ifstream page(test::source_folder() + "/docs/choosing.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  const std::string marked = "<!-- method-limits -->\n" + method_table() + "<!-- end -->";
  EXPECT_NE(text.find(marked), std::string::npos) << "docs/choosing.md should have\n" << marked;
}

TEST(MethodLimits, WhatTheTableRefusesIsRefused) {
  for (const MethodDescription& method : methods()) {
    const MethodLimits& limits = method.limits;
    for (int index = 1; index <= most_index; ++index) {
      for (const Form form : {Form::residual, Form::linear_residual, Form::mass_matrix, Form::semi_explicit}) {
        const bool expected =
            form < limits.form || !limits.algebraic || suitability(limits, index) == Suitability::refused;
        EXPECT_EQ(refused(model(form, index), limits.name), expected) << limits.name << " index " << index;
      }
    }
    EXPECT_FALSE(refused(model(Form::semi_explicit, 1, false), limits.name)) << limits.name;
  }
}

TEST(MethodLimits, MessagesNameTheMethodToTake) {
  EXPECT_EQ(message(model(Form::semi_explicit, 3), "bdf"),
            "method 'bdf' does not converge for index 3, which model 'some' has: take 'radau9'");
  EXPECT_EQ(
      message(model(Form::semi_explicit, 2), "esdirk54"),
      "method 'esdirk54' has order 3 for index 2, which model 'some' has, instead of 5: 'radau5' needs fewer steps "
      "and is more accurate");
  EXPECT_EQ(message(model(Form::residual, 1), "rodas4"),
            "method 'rodas4': Rosenbrock methods need equations that are M y' = f(t, y), with a constant M, but model "
            "'some' has y' in its residual in another way: take 'radau5'");
  EXPECT_EQ(message(model(Form::linear_residual, 1), "rodas4"), "");
  EXPECT_EQ(message(model(Form::linear_residual, 1), "dirka"),
            "method 'dirka': embedded SDIRK methods need rhs(t, y, p, f) without mass_matrix, but model 'some' is in "
            "residual form: take 'radau5'");
  EXPECT_EQ(
      message(model(Form::mass_matrix, 1), "dirka"),
      "method 'dirka': embedded SDIRK methods need rhs(t, y, p, f) without mass_matrix, but model 'some' has a mass "
      "matrix: take 'radau5'");
  EXPECT_EQ(
      message(model(Form::residual, 1), "rk4"),
      "method 'rk4': explicit Runge-Kutta methods need equations from which all derivatives can be found, but model "
      "'some' has algebraic variables: take 'radau5'");
  EXPECT_EQ(message(model(Form::residual, 2), "radau5"), "");
  for (const int index : {1, 2, 3})
    EXPECT_EQ(message(model(Form::residual, index), std::string(method_to_take(index))), "");
}

TEST(MethodLimits, AutoNeverTakesWhatDoesNotSuit) {
  for (const ModelDescription& description : builtin_models()) {
    for (const AutomaticMethods& automatic : {description.automatic, description.automatic_mixed}) {
      for (const std::string& name : {automatic.loose, automatic.medium, automatic.tight}) {
        EXPECT_EQ(message(description, name), "") << description.name;
      }
    }
  }
}

TEST(MethodLimits, ReferencesSuitTheModelAndAreOfOtherFamilies) {
  const auto family_of = [](const std::string& name) {
    return std::find_if(methods().begin(), methods().end(), [&](const auto& m) { return m.name == name; })->family;
  };
  for (const MethodDescription& method : methods()) {
    const MethodLimits& limits = method.limits;
    for (int index = 1; index <= most_index; ++index) {
      for (const Form form : {Form::residual, Form::semi_explicit}) {
        const ModelDescription description = model(form, index);
        const std::string name(limits.name);
        const auto [first, second] = reference_methods(description, name);
        EXPECT_FALSE(refused(description, first)) << first;
        EXPECT_FALSE(refused(description, second)) << second;
        EXPECT_NE(first, second);
        EXPECT_NE(first, name);
        EXPECT_NE(second, name);
        EXPECT_NE(family_of(first), family_of(name)) << name << " index " << index;
        if (index == 1) {
          EXPECT_NE(family_of(second), family_of(name)) << name;
          EXPECT_NE(family_of(second), family_of(first)) << name;
        }
      }
    }
  }
}

TEST(MethodLimits, LoadingAKernelGoesByTheTable) {
  try {
    load_kernel({"pendulum_index3", {.method = "esdirk54"}});
    FAIL() << "esdirk54 does not converge for index 3";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("take 'radau9'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(load_kernel({"rlc_index1", {.method = "dirka"}}), UsageError);
}

// `Ensemble` refuses to be compiled where this is false.
static_assert(converges<Radau9<System<PendulumIndex3>, double>>());
static_assert(!converges<Esdirk54<System<PendulumIndex3>, double>>());
static_assert(!converges<Lobatto2<System<PendulumIndex3>, double>>());
static_assert(!converges<Bdf<System<PendulumIndex3>, double>>());
static_assert(converges<Bdf<System<PendulumIndex2>, double>>());

}  // namespace
}  // namespace manyfold
