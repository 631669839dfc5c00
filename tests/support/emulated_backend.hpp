#pragma once
// The command on devices that the emulated driver stands in for.
#include <netcdf.h>
#include <signal.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/command.hpp"
#include "tests/support/environment.hpp"

namespace manyfold::test {

using Json = nlohmann::json;

class EmulatedBackend : public CommandTest {
 protected:
  pid_t start(const std::string& arguments, const std::string& environment = "") const {
    const auto path = [](const char* name) { return "'" + from_environment(name) + "' "; };
    return CommandTest::start(arguments, "MANYFOLD_CUDA_DRIVER=" + path("MANYFOLD_EMULATED_DRIVER") +
                                             "MANYFOLD_CUBLAS=" + path("MANYFOLD_EMULATED_BLAS") +
                                             "MANYFOLD_CUSOLVER=" + path("MANYFOLD_EMULATED_SOLVER") +
                                             "MANYFOLD_NVRTC=" + path("MANYFOLD_EMULATED_COMPILER") + environment);
  }
  Outcome call(const std::string& arguments, const std::string& environment = "") const {
    return finish(start(arguments, environment));
  }

  std::vector<double> values(const std::string& file, const std::string& variable) const {
    int id = 0;
    int var = 0;
    EXPECT_EQ(nc_open((folder_ / file).c_str(), NC_NOWRITE, &id), NC_NOERR);
    EXPECT_EQ(nc_inq_varid(id, variable.c_str(), &var), NC_NOERR);
    int dimensions = 0;
    int ids[NC_MAX_VAR_DIMS] = {};
    nc_inq_var(id, var, nullptr, nullptr, &dimensions, ids, nullptr);
    std::size_t total = 1;
    for (int d = 0; d < dimensions; ++d) {
      std::size_t length = 0;
      nc_inq_dimlen(id, ids[d], &length);
      total *= length;
    }
    std::vector<double> result(total);
    EXPECT_EQ(nc_get_var_double(id, var, result.data()), NC_NOERR);
    nc_close(id);
    return result;
  }
};

}  // namespace manyfold::test
