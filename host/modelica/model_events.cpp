// Events of the model: where relations change, at the times of clocks; and what happens then.
#include <algorithm>

#include <fmt/format.h>

#include "host/modelica/model_code.hpp"
#include "host/modelica/reducer.hpp"

namespace manyfold::modelica {
namespace {}  // namespace

void ModelCode::find_events() {}
std::string ModelCode::events() {
  return "";
}
std::string ModelCode::root() {
  return "";
}
std::string ModelCode::event_times() {
  return "";
}
std::string ModelCode::discrete_numbers() {
  return "";
}
std::string ModelCode::initial_discrete() {
  return "";
}
std::string ModelCode::action() {
  return "";
}

}  // namespace manyfold::modelica
