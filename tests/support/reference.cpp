#include "tests/support/reference.hpp"

#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/support/environment.hpp"

namespace manyfold::test {

Reference reference_of(const std::string& model) {
  std::ifstream file(from_environment("MANYFOLD_SOURCE") + "/problems/" + model + "/reference.json");
  const auto json = nlohmann::json::parse(file);
  Reference reference;
  json.at("t_end").get_to(reference.t_end);
  // Of some problems the values at the end have names.
  if (json.at("values").is_array()) json.at("values").get_to(reference.values);
  if (json.contains("initial")) json.at("initial").get_to(reference.initial);
  if (json.contains("times")) json.at("times").get_to(reference.times);
  if (json.contains("at_times")) json.at("at_times").get_to(reference.at_times);
  if (json.contains("event_times")) json.at("event_times").get_to(reference.event_times);
  return reference;
}

}  // namespace manyfold::test
