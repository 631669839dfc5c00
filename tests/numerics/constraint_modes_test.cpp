// Constraints that come and go with a mode: their equations contain a multiplier in one mode, and not in the other, so
// that the pattern of both is of a lower index. References: equations of index 0 between the changes, by SciPy's DOP853
// at rtol 3e-14, with events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <manyfold/ensemble.hpp>

namespace manyfold {
namespace {

/// Two bodies on ropes, with a spring between them. Each rope lets go at its time. One equation is stated by products,
/// the other by `select`.
struct Ropes {
  static constexpr const char* name = "ropes";
  static constexpr double t_span[] = {0.0, 2.0};
  enum { x1, y1, u1, v1, x2, y2, u2, v2, lambda1, lambda2 };
  static constexpr Variable variables[] = {{.name = "x1"},
                                           {.name = "y1", .initial = -1.0},
                                           {.name = "u1", .initial = 3.0, .index = 2},
                                           {.name = "v1", .index = 2},
                                           {.name = "x2"},
                                           {.name = "y2", .initial = -0.7},
                                           {.name = "u2", .initial = -1.4, .index = 2},
                                           {.name = "v2", .index = 2},
                                           {.name = "lambda1", .algebraic = true, .index = 3},
                                           {.name = "lambda2", .algebraic = true, .index = 3}};
  enum { t1, t2, held1, held2 };
  static constexpr Parameter parameters[] = {{.name = "t1", .value = 0.7}, {.name = "t2", .value = 1.2}};
  static constexpr Event events[] = {{.name = "first", .scheduled = 1}, {.name = "second", .scheduled = 1}};
  static constexpr Discrete discrete[] = {{.name = "held1", .initial = 1.0}, {.name = "held2", .initial = 1.0}};
  static constexpr double stiffness = 3.0;
  static constexpr double g = 9.81;

  static constexpr void residual(const auto&, const auto& y, const auto& dy, const auto& p, auto& F) {
    F[x1] = dy[x1] - y[u1];
    F[y1] = dy[y1] - y[v1];
    F[u1] = dy[u1] - stiffness * (y[x2] - y[x1]) + y[x1] * y[lambda1];
    F[v1] = dy[v1] - stiffness * (y[y2] - y[y1]) + y[y1] * y[lambda1] + g;
    F[x2] = dy[x2] - y[u2];
    F[y2] = dy[y2] - y[v2];
    F[u2] = dy[u2] - stiffness * (y[x1] - y[x2]) + y[x2] * y[lambda2];
    F[v2] = dy[v2] - stiffness * (y[y1] - y[y2]) + y[y2] * y[lambda2] + g;
    F[lambda1] = select(p[held1] == 1.0, y[x1] * y[x1] + y[y1] * y[y1] - 1.0, y[lambda1]);
    F[lambda2] = p[held2] * (y[x2] * y[x2] + y[y2] * y[y2] - 0.49) + (1.0 - p[held2]) * y[lambda2];
  }
  static constexpr void event_times(const auto& p, auto& times) {
    times[0] = p[t1];
    times[1] = p[t2];
  }
  static constexpr void action(auto event, const auto&, auto&, const auto&, const auto& p, auto& d) {
    d[event] = 0.0 * p[t1];
  }
};

/// A mass that a rope of length 1 turns round, without gravity, until it lets go.
struct Sling {
  static constexpr const char* name = "sling";
  static constexpr double t_span[] = {0.0, 2.0};
  static constexpr Variable variables[] = {{.name = "x"},
                                           {.name = "y", .initial = -1.0},
                                           {.name = "u", .index = 2},
                                           {.name = "v", .index = 2},
                                           {.name = "lambda", .algebraic = true, .index = 3}};
  static constexpr Parameter parameters[] = {{.name = "speed", .value = 5.0}, {.name = "release", .value = 1.0}};
  static constexpr Event events[] = {{.name = "lets_go", .scheduled = 1}};
  static constexpr Discrete discrete[] = {{.name = "held", .initial = 1.0}};
  static constexpr void initial(const auto& p, auto& y) {
    y[1] = -1.0;
    y[2] = p[0];
  }
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = -y[4] * y[0];
    f[3] = -y[4] * y[1];
    f[4] = select(p[2] == 1.0, y[0] * y[0] + y[1] * y[1] - 1.0, y[4]);
  }
  static constexpr void event_times(const auto& p, auto& times) { times[0] = p[1]; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto& p, auto& d) { d[0] = 0.0 * p[0]; }
};

/// An engine and a car, joined by a clutch. It slips with the torque of its pressure, and locks where the speeds meet:
/// then the torque is that of a constraint, up to what the pressure holds.
struct Clutch {
  static constexpr const char* name = "clutch";
  static constexpr double t_span[] = {0.0, 5.0};
  static constexpr Variable variables[] = {
      {.name = "w1", .initial = 100.0}, {.name = "w2"}, {.name = "torque", .algebraic = true, .index = 2}};
  static constexpr Parameter parameters[] = {{.name = "J1", .value = 0.2}, {.name = "J2", .value = 1.0}};
  static constexpr Event events[] = {{.name = "locks"}, {.name = "slips", .direction = 1}};
  static constexpr Discrete discrete[] = {{.name = "slip", .initial = 1.0}};
  static constexpr double friction = 0.3;
  static constexpr double held = 40.0;

  static constexpr auto engine(const auto& t) { return 30.0 + 60.0 * sin(3.0 * t); }
  static constexpr auto locked_torque(const auto& t, const auto& y, const auto& p) {
    return (engine(t) * p[1] + friction * y[1] * p[0]) / (p[0] + p[1]);
  }
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = (engine(t) - y[2]) / p[0];
    f[1] = (y[2] - friction * y[1]) / p[1];
    f[2] = select(p[2] == 0.0, y[0] - y[1], y[2] - p[2] * held);
  }
  static constexpr void root(const auto& t, const auto& y, const auto&, const auto& p, auto& g) {
    const auto one = 1.0 + 0.0 * y[0];
    g[0] = select(p[2] == 0.0, one, p[2] * (y[0] - y[1]));
    g[1] = select(p[2] == 0.0, abs(locked_torque(t, y, p)) - held, -one);
  }
  static constexpr void sides(const auto& p, auto& side) {
    side[0] = select(p[2] == 0.0, 0.0 * p[0], 1.0 + 0.0 * p[0]);
    side[1] = 0.0 * p[0];
  }
  static constexpr void action(auto event, const auto& t, auto& y, const auto&, const auto& p, auto& d) {
    const auto torque = locked_torque(t, y, p);
    const auto direction = select(torque > 0.0, 1.0 + 0.0 * torque, -1.0 + 0.0 * torque);
    if constexpr (event == 0) {
      y[0] = y[1];
      d[0] = select(abs(torque) <= held, 0.0 * torque, direction);
    } else {
      d[0] = direction;
    }
  }
};

/// Two shafts with a coupling that gives way by c times its torque, or not at all.
struct Coupling {
  static constexpr const char* name = "coupling";
  static constexpr double t_span[] = {0.0, 3.0};
  static constexpr Variable variables[] = {
      {.name = "w1"}, {.name = "w2"}, {.name = "torque", .algebraic = true, .index = 2}};
  static constexpr Parameter parameters[] = {{.name = "c", .value = 0.0}};
  static constexpr void rhs(const auto& t, const auto& y, const auto& p, auto& f) {
    f[0] = (3.0 * sin(2.0 * t) - y[2]) / 0.5;
    f[1] = y[2] - 0.3 * y[1];
    f[2] = y[0] - y[1] - p[0] * y[2];
  }
};

/// A block on a surface that is taken away. The force of friction follows from the normal force: this law contains
/// multipliers and a velocity as constraints with modes do, but always determines a multiplier.
struct Block {
  static constexpr const char* name = "block";
  static constexpr double t_span[] = {0.0, 1.0};
  static constexpr Variable variables[] = {{.name = "x"},
                                           {.name = "y"},
                                           {.name = "u", .index = 2},
                                           {.name = "v", .index = 2},
                                           {.name = "normal", .algebraic = true, .index = 3},
                                           {.name = "friction", .algebraic = true, .index = 3}};
  static constexpr Event events[] = {{.name = "taken", .scheduled = 1}};
  static constexpr Parameter parameters[] = {{.name = "mu", .value = 0.2}};
  static constexpr Discrete discrete[] = {{.name = "on", .initial = 1.0}};
  static constexpr void rhs(const auto&, const auto& y, const auto& p, auto& f) {
    f[0] = y[2];
    f[1] = y[3];
    f[2] = 5.0 - y[5];
    f[3] = y[4] - 9.81;
    f[4] = select(p[1] == 1.0, y[1], y[4]);
    f[5] = y[5] - p[0] * y[4] * tanh(y[2]);
  }
  static constexpr void event_times(const auto&, auto& times) { times[0] = 0.5; }
  static constexpr void action(auto, const auto&, auto&, const auto&, const auto& p, auto& d) { d[0] = 0.0 * p[0]; }
};

// Offsets of the mode in which the constraints bind: those of the pendulum, of Pantelides (1988), twice.
template <class Model>
using StructureOf = Structure<System<Model>>;
constexpr bool has_offsets_of_two_pendulums() {
  constexpr short equation[] = {1, 1, 0, 0, 1, 1, 0, 0, 2, 2};
  constexpr short variable[] = {2, 2, 1, 1, 2, 2, 1, 1, 0, 0};
  for (int i = 0; i < 10; ++i) {
    if (StructureOf<Ropes>::of_equation(i) != equation[i] || StructureOf<Ropes>::of_variable(i) != variable[i]) {
      return false;
    }
  }
  return true;
}
static_assert(has_offsets_of_two_pendulums());
static_assert(StructureOf<Clutch>::offsets.index() == 2 && StructureOf<Clutch>::leaves(2));
static_assert(StructureOf<Block>::offsets.index() == 3 && StructureOf<Block>::leaves(4));

// In instances with the ropes held and let go, in all four combinations. Off by half a tolerance.
TEST(ConstraintModes, OfRopesThatLetGo) {
  constexpr double never = 9.0;
  const double exact[4][Ropes::lambda2 + 1] = {
      {-0.971654816142, -7.2780967569, -0.803182555521, -7.79068140731, -1.20422120062, -6.4040701479, -1.99435797162,
       -13.3622154988, 0.0, 0.0},
      {-0.940902021701, -6.33936366185, -0.232079597115, -3.42206677316, 0.122294613591, -0.68923437776, 2.16832301858,
       0.384737375636, 0.0, 46.7423615633},
      {0.292825584855, -0.956165873086, 1.3520544961, 0.414066387141, -1.06088415691, -3.81992544062, -1.24303525118,
       -6.1593283586, 18.4049745094, 0.0},
      {0.153264282877, -0.988185235467, 1.70533294565, 0.264491536203, -0.424238348309, -0.556796034311, 1.51998605221,
       -1.15811954918, 11.1278044903, 18.5701197711}};
  Ensemble<Ropes, Radau5> ensemble(4);
  ensemble.set("t1", std::vector<double>{0.7, 0.7, never, never});
  ensemble.set("t2", std::vector<double>{1.2, never, 1.2, never});
  for (const double rtol : {1e-5, 1e-8}) {
    const EnsembleResult result = ensemble.solve({.rtol = rtol, .atol = {rtol}, .threads = 1}, {2.0});
    for (int k = 0; k < 4; ++k) {
      ASSERT_EQ(result.outcomes[static_cast<std::size_t>(k)].status, Status::success) << k;
      for (int i = 0; i < 10; ++i) {
        EXPECT_NEAR(result.value(k, 0, i), exact[k][i], 5.0 * rtol * (1.0 + std::abs(exact[k][i]))) << k << ' ' << i;
      }
    }
  }
}

// What is no mode but a parameter. With c > 0 the torque is the difference of the speeds divided by c, and so are
// errors: off by 10 tolerances of the torque, 100 would be those of the speeds.
TEST(ConstraintModes, OfACouplingThatMayBeRigid) {
  const double exact[2][3] = {{-0.434950693442, -0.434950693442, -0.602326065742},
                              {-0.439222566538, -0.433075072529, -0.614749400893}};
  Ensemble<Coupling, Radau5> ensemble(2);
  ensemble.set("c", std::vector<double>{0.0, 0.01});
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const EnsembleResult result = ensemble.solve({.rtol = rtol, .atol = {rtol}, .threads = 1}, {3.0});
    for (int k = 0; k < 2; ++k) {
      ASSERT_EQ(result.outcomes[static_cast<std::size_t>(k)].status, Status::success) << k;
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(result.value(k, 0, i), exact[k][i], rtol * (1.0 + std::abs(exact[k][i]))) << k << ' ' << i;
      }
    }
  }
}

// `allowance`: in tolerances; measured 3.3 and 6.0.
template <template <class, class> class Method>
void expect_clutch(double allowance) {
  const double exact[5][3] = {{248.99924966, 34.5575705758, 40.0},
                              {51.088403949, 51.088403949, 13.5836452875},
                              {199.979298533, 70.630934078, 40.0},
                              {69.0089050749, 69.0089050749, 1.62179935372},
                              {205.569091324, 81.691541095, 40.0}};
  const double changes[] = {1.7709398936849, 2.1775603853966, 3.6477610257725, 4.2664986862363};
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const EnsembleResult result =
        Ensemble<Clutch, Method>(1).solve({.rtol = rtol, .atol = {rtol}, .threads = 1}, {1.0, 2.0, 3.0, 4.0, 5.0});
    ASSERT_EQ(result.outcomes[0].status, Status::success);
    ASSERT_EQ(result.events[0].size(), 4U);
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(result.events[0][k].time, changes[k], allowance * rtol) << k;
    for (int k = 0; k < 5; ++k) {
      for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(result.value(0, k, i), exact[k][i], allowance * rtol * (1.0 + exact[k][i])) << k << ' ' << i;
      }
    }
  }
}

// The velocity at the end of a step lies beside the constraint. The next step takes that back, but behind the release
// there is no constraint: off by 762 tolerances before, by 1.6 now.
TEST(ConstraintModes, ThatEndLeaveVelocitiesOnThem) {
  Ensemble<Sling, Radau5> ensemble(50);
  std::vector<double> releases(50);
  for (std::size_t k = 0; k < releases.size(); ++k) releases[k] = 0.5 + 0.02 * static_cast<double>(k);
  ensemble.set("release", releases);
  const EnsembleResult result = ensemble.solve({.rtol = 1e-8, .atol = {1e-8}, .threads = 1}, {2.0});
  double worst = 0.0;
  for (int k = 0; k < 50; ++k) {
    const double angle = 5.0 * releases[static_cast<std::size_t>(k)];
    const double along[] = {5.0 * std::cos(angle), 5.0 * std::sin(angle)};
    for (int i = 0; i < 2; ++i) {
      worst = std::max(worst, std::abs(result.value(k, 0, 2 + i) - along[i]) / (1e-8 * (1.0 + std::abs(along[i]))));
    }
  }
  EXPECT_LE(worst, 10.0);
}

// u(0.5) as above; then a fall. Off by 8e-10.
TEST(ConstraintModes, BesideALawOfFriction) {
  const EnsembleResult result =
      Ensemble<Block, Radau5>(1).solve({.rtol = 1e-8, .atol = {1e-8}, .threads = 1}, {0.5, 1.0});
  ASSERT_EQ(result.outcomes[0].status, Status::success);
  constexpr double tolerance = 1e-8;
  constexpr double speed = 1.838880419698;
  EXPECT_NEAR(result.value(0, 0, 2), speed, tolerance);
  EXPECT_NEAR(result.value(0, 0, 4), 9.81, tolerance);
  EXPECT_NEAR(result.value(0, 0, 5), 0.2 * 9.81 * std::tanh(speed), tolerance);
  EXPECT_NEAR(result.value(0, 1, 1), -0.125 * 9.81, tolerance);
  EXPECT_NEAR(result.value(0, 1, 2), speed + 2.5, tolerance);
  EXPECT_NEAR(result.value(0, 1, 4), 0.0, tolerance);
}

TEST(ConstraintModes, OfAClutch) {
  expect_clutch<Radau5>(7.0);
}
TEST(ConstraintModes, OfAClutchWithADenseOutputOfLowerOrder) {
  expect_clutch<Kvaerno54>(12.0);
}

}  // namespace
}  // namespace manyfold
