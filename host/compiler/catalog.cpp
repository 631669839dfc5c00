#include "host/compiler/catalog.hpp"

#include "kernels/describe.hpp"
#include "kernels/methods/dirk.hpp"
#include "kernels/methods/radau.hpp"
#include "problems/bouncing_ball/bouncing_ball.hpp"
#include "problems/bouncing_ball_track/bouncing_ball_track.hpp"
#include "problems/das1/das1.hpp"
#include "problems/das2/das2.hpp"
#include "problems/diffusion/diffusion.hpp"
#include "problems/overflow_tank/overflow_tank.hpp"
#include "problems/pendulum/pendulum.hpp"
#include "problems/rectifier/rectifier.hpp"
#include "problems/rlc_index0/rlc_index0.hpp"
#include "problems/rlc_index1/rlc_index1.hpp"
#include "problems/robertson/robertson.hpp"
#include "problems/stick_slip/stick_slip.hpp"
#include "problems/thermostat/thermostat.hpp"
#include "problems/transistor_amplifier/transistor_amplifier.hpp"
#include "problems/van_der_pol/van_der_pol.hpp"

namespace manyfold {
namespace {

template <class... Models>
std::vector<ModelDescription> describe_all() {
  std::vector<ModelDescription> result(sizeof...(Models));
  std::size_t at = 0;
  (describe_model<Models>(result[at++]), ...);
  return result;
}

template <class Tableau>
MethodDescription describe_method(const char* template_name) {
  return {Tableau::name, Tableau::family, Tableau::order, template_name};
}

}  // namespace

const std::vector<ModelDescription>& builtin_models() {
  static const auto models = describe_all<Robertson, TransistorAmplifier, Das1, Pendulum, RlcIndex0, RlcIndex1,
                                          BouncingBall, BouncingBallTrack, Das2, Thermostat, OverflowTank, StickSlip,
                                          Rectifier, VanDerPol, Diffusion<structural_value(40)>>();
  return models;
}

const std::vector<MethodDescription>& methods() {
  static const std::vector<MethodDescription> all = {describe_method<RadauIIA5>("Radau5"),
                                                     describe_method<Esdirk54Tableau>("Esdirk54")};
  return all;
}

const std::vector<std::string>& method_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const MethodDescription& method : methods()) result.push_back(method.name);
    result.emplace_back("auto");
    return result;
  }();
  return names;
}

}  // namespace manyfold
